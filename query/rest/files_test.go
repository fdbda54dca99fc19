package rest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/query"
)

// fileRoutes are the four routes of exports; with "imports" for "exports",
// those of imports.
var fileRoutes = []string{"exports", "exports/history", "exports/history/latest", "exports/history/download"}

func imports(route string) string { return strings.Replace(route, "exports", "imports", 1) }

func bothDirections() (all []string) {
	for _, r := range fileRoutes {
		all = append(all, r, imports(r))
	}
	return all
}

// EXP-K1, EXP-01a: the exports of one order, each with its name and the time of
// its newest file, in a stable order.
func TestExports(t *testing.T) {
	w := newFilesWorld(t)
	for i, name := range []string{"Täglich", "Weekly", "Never run"} {
		w.job(query.Exports, orderA, contracts.FileJobID(11+i), name)
	}
	w.job(query.Exports, orderB, 21, "Of another order")
	w.job(query.Imports, orderA, 31, "An import")
	w.publish(query.Exports, orderA, 11, "2026-03-02T05:00:00.250Z", "p", "p.csv", []byte("2"))
	w.publish(query.Exports, orderA, 11, "2026-03-01T05:00:00Z", "p", "p.csv", []byte("1"))
	w.publish(query.Exports, orderA, 12, "2026-02-01T06:00:00Z", "p", "p.csv", []byte("0"))

	const want = `{"data":[{"exportName":"Täglich","lastArchivedAt":"2026-03-02T05:00:00.250Z"},` +
		`{"exportName":"Weekly","lastArchivedAt":"2026-02-01T06:00:00.000Z"},{"exportName":"Never run","lastArchivedAt":null}],` +
		`"paging":{"limit":100,"returned":3},"query":{"orderId":"101"}}`
	for range 2 {
		if got := string(w.get(path(orderA, "exports"), w.token(reader)).body); got != want { // choices 14, 15
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	p := w.list(orderA, "exports", "exportName", "Weekly")
	if diff := cmp.Diff([]string{"Weekly"}, keys(p, "exportName")); diff != "" || p.Query["exportName"] != "Weekly" {
		t.Error(diff, p.Query)
	}
	if p := w.list(orderA, "exports", "exportName", "weekly"); len(p.Data) != 0 {
		t.Errorf("%+v", p)
	}
	if p := w.list(orderA, "exports", "limit", "1"); len(p.Data) != 1 || p.Paging.NextCursor == "" {
		t.Errorf("%+v", p)
	}
	equals.Check(t, []string{"Täglich", "Weekly", "Never run"}, w.walk("exportName", orderA, "exports", "limit", "1"))
}

// IMP-K1, IMP-01a, IMP-01b, IMP-01c: imports are chosen by name before the
// page is cut.
func TestImports(t *testing.T) {
	spy := &countedStore{}
	w := newFilesWorld(t, func(s *settings) { spy.Store, s.store = s.store, spy })
	w.exec("INSERT INTO file_jobs SELECT 1, 'import', ?, number + 1, concat('Import ', leftPad(toString(number), 3, '0')), now64(3), 1 FROM numbers(300)", uint64(orderA))
	w.job(query.Exports, orderA, 1000, "Import 298")
	w.job(query.Imports, orderB, 1001, "Import 298")
	w.publish(query.Imports, orderA, 299, "2026-03-02T05:00:00Z", "p", "p.csv", []byte("2"))

	const want = `{"data":[{"name":"Import 298","lastArchivedAt":"2026-03-02T05:00:00.000Z"}],` +
		`"paging":{"limit":1,"returned":1},"query":{"orderId":"101","name":"Import 298"}}`
	if got := string(w.get(path(orderA, "imports", "name", "Import 298", "limit", "1"), w.token(reader)).body); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	first := keys(w.list(orderA, "imports", "limit", "3"), "name")
	equals.Check(t, []string{"Import 000", "Import 001", "Import 002"}, first)
	if all := w.walk("name", orderA, "imports", "limit", "77"); len(all) != 300 || !slices.IsSorted(all) {
		t.Errorf("%d %v", len(all), all)
	}
	before := spy.asked
	for _, name := range []string{"", "\x00", "a\nb", "\xff", strings.Repeat("x", 257)} {
		w.get(path(orderA, "imports", "name", name), w.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	}
	if spy.asked != before {
		t.Errorf("the store was asked %d times about names that no import can have", spy.asked-before)
	}
}

// historyWorld is read-only.
var historyWorld = testserver.Shared[*filesWorld]{Make: history}

// history is a world with files in each direction of one order.
func history(t testing.TB) *filesWorld {
	w := newFilesWorld(t)
	for _, d := range []query.Direction{query.Exports, query.Imports} {
		w.job(d, orderA, 11, "Daily")
		w.job(d, orderA, 12, "Weekly")
		w.publish(d, orderA, 11, "2026-03-01T05:00:00Z", "prices", "prices-1.csv", []byte("one"))
		w.publish(d, orderA, 11, "2026-03-02T23:59:59.999Z", "prices", "prices-2.csv", []byte("two"))
		w.publish(d, orderA, 11, "2026-03-03T00:00:00Z", "prices", "prices-3.csv", []byte("three"))
		two := document{d, orderA, 12, "2026-03-02T06:00:00Z", []file{
			{name: "prices", filename: "all.XLSX", content: []byte("four")},
			{name: "note", filename: "note.txt", content: []byte("five")},
		}}
		for i, ref := range w.add(two) {
			w.put(w.archives[0], ref, two.files[i].content)
		}
		w.add(document{d, orderB, 11, "2026-03-09T05:00:00Z", []file{{name: "prices", filename: "of-b.csv"}}})
	}
	w.add(document{query.Exports, foreign, 11, "2026-03-09T05:00:00Z", []file{{name: "prices", filename: "foreign.csv"}}})
	return w
}

// HIST-K1, EXP-02, IMP-02, OPEN-09, VIS-05: each filter alone and together.
func TestHistory(t *testing.T) {
	t.Parallel()
	w := historyWorld.Get(t).of(t)
	const want = `{"data":[{"name":"prices","exportName":"Daily","filename":"prices-3.csv","contentType":"text/csv; charset=utf-8","sizeBytes":5,"archivedAt":"2026-03-03T00:00:00.000Z"}],` +
		`"paging":{"limit":100,"returned":1},"query":{"orderId":"101","dateFrom":"2026-03-03T00:00:00.000Z","dateTo":"2026-03-03T23:59:59.999Z","exportName":"Daily"}}`
	got := string(w.get(path(orderA, "exports/history", "exportName", "Daily", "dateFrom", "2026-03-03", "dateTo", "2026-03-03"), w.token(reader)).body)
	if got != want { // choices 14, 15, 20
		t.Errorf("got  %s\nwant %s", got, want)
	}
	all := []string{"prices-3.csv", "prices-2.csv", "all.XLSX", "note.txt", "prices-1.csv"}
	for _, c := range []struct {
		args string
		want []string
	}{
		{"", all},
		{"name=prices", []string{"prices-3.csv", "prices-2.csv", "all.XLSX", "prices-1.csv"}},
		{"name=note", []string{"note.txt"}},
		{"name=Prices", nil},
		{"dateFrom=2026-03-02", all[:4]},
		{"dateTo=2026-03-02", all[1:]}, // the whole day
		{"dateTo=2026-03-02T23:59:59.998Z", all[2:]},
		{"dateTo=2026-03-02T23:59:59.999Z", all[1:]}, // inclusive
		{"dateFrom=2026-03-02T23:59:59.999Z", all[:2]},
		{"dateFrom=2026-03-03T00:59:59.999%2B01:00", all[:2]},
		{"dateFrom=2026-03-02&dateTo=2026-03-02", all[1:4]},
		{"dateFrom=2026-03-02&dateTo=2026-03-02&name=prices", []string{"prices-2.csv", "all.XLSX"}},
		{"dateFrom=2026-03-04", nil},
		{"name=x'%20OR%20''='", nil},
	} {
		for _, direction := range []string{"exports", "imports"} {
			p := w.page(path(orderA, direction+"/history"), c.args)
			equals.Checkf(t, c.want, keys(p, "filename"), "%s %s", direction, c.args)
		}
	}
	for args, want := range map[string][]string{
		"exportName=Weekly":                             {"all.XLSX", "note.txt"},
		"exportName=Daily&dateTo=2026-03-01":            {"prices-1.csv"},
		"exportName=Weekly&name=prices":                 {"all.XLSX"},
		"exportName=Daily&name=note":                    nil,
		"exportName=Nobody":                             nil,
		"exportName=Weekly&name=note&dateTo=2026-03-02": {"note.txt"},
		"exportName=Weekly&name=note&dateTo=2026-03-01": nil,
		"exportName=Weekly&limit=1":                     {"all.XLSX"},
		"exportName=Weekly&limit=2&dateFrom=2026-03-01": {"all.XLSX", "note.txt"},
	} {
		equals.Checkf(t, want, keys(w.page(path(orderA, "exports/history"), args), "filename"), "%s", args)
	}
	for _, direction := range []string{"exports", "imports"} {
		for _, limit := range []string{"2", "5"} { // in the middle of a document, and all
			equals.Checkf(t, all, w.walk("filename", orderA, direction+"/history", "limit", limit), "%s by %s", direction, limit)
		}
	}
	entry := w.list(orderA, "imports/history", "name", "note").Data[0]
	imported := map[string]any{"name": "note", "filename": "note.txt", "contentType": "application/octet-stream", "sizeBytes": 4.0, "archivedAt": "2026-03-02T06:00:00.000Z"}
	equals.Check(t, imported, entry)
}

// EXP-03a, IMP-03, HIST-04, ERR-07, choices 31: which file is the newest, and
// which one a download sends.
func TestLatest(t *testing.T) {
	t.Parallel()
	w := historyWorld.Get(t).of(t)
	for _, direction := range []string{"exports", "imports"} {
		latest, download := path(orderA, direction+"/history/latest")+"?", path(orderA, direction+"/history/download")+"?"
		for args, want := range map[string]struct{ filename, content string }{ // no content: a download wants to know more
			"":                              {"prices-3.csv", ""},
			"name=prices":                   {"prices-3.csv", ""},
			"latest=true":                   {"prices-3.csv", "three"},
			"dateFrom=2026-03-03":           {"prices-3.csv", "three"},
			"dateTo=2026-03-02T12:00:00Z":   {"all.XLSX", ""}, // the first of its document
			"latest=true&dateTo=2026-03-02": {"prices-2.csv", "two"},
			"name=note":                     {"note.txt", "five"},
			"name=prices&dateTo=2026-03-01T23:00:00Z": {"prices-1.csv", "one"},
		} {
			equals.Is[any](t, want.filename, decode[map[string]any](t, w.fetch(latest+args))["filename"], "%s %s", direction, args)
			a := w.get(download+args, w.token(reader))
			if want.content != "" {
				if string(a.body) != want.content || !strings.Contains(a.Header.Get("Content-Disposition"), want.filename) {
					t.Errorf("%s %s: %q, %v, want %q", direction, args, a.body, a.Header, want.content)
				}
				continue
			}
			p := a.wantProblem(t, 400, "MVP_VALIDATION_ERROR")
			for _, way := range []string{"name", "dateFrom", "dateTo", "latest=true"} {
				if !strings.Contains(p.Detail, way) {
					t.Errorf("%s: the detail does not name %s: %s", args, way, p.Detail)
				}
			}
			if strings.Contains(p.Detail, "exportName") != (direction == "exports") {
				t.Error(p.Detail)
			}
		}
		w.get(download+"latest=false", w.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
		for _, nothing := range []string{latest + "name=nothing", latest + "dateFrom=2026-03-04", download + "dateTo=2026-02-28", download + "latest=true&name=nothing"} {
			w.get(nothing, w.token(reader)).wantProblem(t, 404, "HISTORY_ARTIFACT_NOT_FOUND")
		}
	}
	got := decode[map[string]any](t, w.fetch(path(orderA, "exports/history/latest", "exportName", "Weekly")))
	if got["filename"] != "all.XLSX" || got["exportName"] != "Weekly" {
		t.Error(got)
	}
	if got := w.fetch(path(orderA, download, "exportName", "Weekly", "name", "prices")); string(got.body) != "four" {
		t.Errorf("%q", got.body)
	}
}

// A file that arrives during a walk repeats nothing on its later pages, and
// nothing that was there before is left out. A revoked grant takes effect with
// the next request.
func TestHistoryThatChanges(t *testing.T) {
	t.Parallel()
	w := history(t)
	first := w.list(orderA, "exports/history", "limit", "2")
	w.publish(query.Exports, orderA, 11, "2026-03-05T05:00:00Z", "prices", "new.csv", []byte("new"))
	rest := w.list(orderA, "exports/history", "limit", "10", "cursor", first.Paging.NextCursor)
	got := append(keys(first, "filename"), keys(rest, "filename")...)
	equals.Check(t, []string{"prices-3.csv", "prices-2.csv", "all.XLSX", "note.txt", "prices-1.csv"}, got)
	token := w.token(oneOrder)
	w.get(path(orderA, "exports"), token).want(t, 200)
	w.exec("INSERT INTO accounts VALUES (5, 1, 'oneorder', 'h', false, false, ['files'], false, [102], true, [], 2)")
	for _, route := range bothDirections() {
		w.get(path(orderA, route), token).wantProblem(t, 404, "ORDER_NOT_FOUND")
	}
}

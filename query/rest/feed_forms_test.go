package rest_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table/tabletest"
	"preismon/query/wire"
)

// feedReads are reads of feeds that begin now, and of explanations, and their
// columns.
func (l *live) feedReads() map[string][]frame.Column {
	l.t.Helper()
	const zone = "&timezone=Europe/Berlin"
	since := func(begin string) string {
		a := l.get(begin+zone, l.token(whole)).want(l.t, 200)
		path, _, _ := strings.Cut(begin, "?")
		return path + "?since=" + decode[page](l.t, a).Progress.Token
	}
	all := query.Include{Coverage: true, OrderIDs: true, CustomerData: true, ExportFields: true, Identity: true}
	const groups = "&includeCoverage=true&includeOrderIds=true&includeCustomerData=true&includeExportFields=true&includeIdentity=true"
	explain := "/ext/v1/explain?path=/v1/results" + zone
	return map[string][]frame.Column{
		since(feedAt + "?orderId=701"):                                              query.FeedColumns(query.Include{}),
		since(feedAt+"?"+groups[1:]) + "&limit=1":                                   query.FeedColumns(all),
		since(alertsAt + "?rule=PRICE_BELOW&price=1&currencyCode=EUR"):              query.RecordColumns[query.Alert](),
		since(alertsAt+"?rule=PRICE_BELOW&price=1&currencyCode=EUR") + "&limit=1":   query.RecordColumns[query.Alert](),
		explain + "&orderId=701&capturedFrom=2026-03-01&capturedTo=2026-03-02":      query.RecordColumns[wire.Explanation](),
		explain + "&globalScope=true&capturedFrom=2026-03-01&capturedTo=2026-03-12": query.RecordColumns[wire.Explanation](), // refused
		explain + "&orderId=701&coverageState=NO_RESULT":                            query.RecordColumns[wire.Explanation](), // is read, as it has no rows
		"/ext/v1/explain?path=/v1/sites":                                            query.RecordColumns[wire.Explanation](),
	}
}

// wantProgress checks that a page of a feed says in any form how far it is, as in
// JSON, and returns its rows. One that is not up to date leads to the next.
func (a answer) wantProgress(t *testing.T, path string, got []tabletest.Record, want feedProgress) []tabletest.Record {
	t.Helper()
	h := a.Header
	if h.Get("Content-Type") == ndjsonMedia {
		last := len(got) - 1
		if got[last]["_control"] != "progress" || got[last]["upToDate"] != want.UpToDate || got[last]["asOf"] != want.AsOf || got[last]["token"] == "" {
			t.Errorf("%s: %v, want %+v", path, got[last], want)
		}
		return got[:last]
	}
	token := h.Get("X-Changes-Token")
	if token == "" || h.Get("X-Changes-As-Of") != want.AsOf || h.Get("X-Changes-Up-To-Date") != strconv.FormatBool(want.UpToDate) || h.Get("X-Results-Returned") != strconv.Itoa(len(got)) {
		t.Errorf("%s: %v, want %+v", path, h, want)
	}
	if want.UpToDate {
		if h.Get("Link") != "" {
			t.Errorf("%s is up to date: Link %s", path, h.Get("Link"))
		}
		return got
	}
	target, rel, _ := strings.Cut(strings.TrimPrefix(h.Get("Link"), "<?"), ">; ")
	onward := must.Get(url.ParseQuery(target))(t)
	limit, _, _ := strings.Cut(strings.TrimPrefix(path[strings.Index(path, "limit="):], "limit="), "&")
	if diff := cmp.Diff(url.Values{"since": {token}, "limit": {limit}}, onward); rel != `rel="next"` || diff != "" {
		t.Errorf("%s: Link %s: %s", path, h.Get("Link"), diff)
	}
	return got
}

// TestFeedForms: a page of changes has the same rows in every form, of every
// kind of row and with any groups of fields, and goes on at the same place.
func TestFeedForms(t *testing.T) {
	s := serveOdd(t)
	s.clock.frozen = time.Now() // so that asOf is the same
	r := rand.New(rand.NewPCG(5, 6))
	more := 0
	met := kinds{}
	for round := range effort.Often(8, 32) {
		args, zoneName := url.Values{}, []string{"UTC", "Europe/Berlin", "America/St_Johns"}[r.IntN(3)]
		zone := must.Get(time.LoadLocation(zoneName))(t)
		args.Set("timezone", zoneName)
		include := groupsOf(31+11*round, args)
		token := decode[page](t, s.get(feedAt+"?"+args.Encode(), s.token(reader))).Progress.Token
		s.store.arrive(r.IntN(12))
		columns := query.FeedColumns(include)
		for upToDate := false; !upToDate; {
			path := feedAt + "?" + url.Values{"limit": {strconv.Itoa(1 + r.IntN(8))}, "since": {token}}.Encode()
			want := decode[page](t, s.get(path, s.token(reader)))
			met.see(want.Data, include.ExportFields)
			next := ""
			for _, media := range tables {
				a := s.getAs(path, media)
				got := a.wantProgress(t, path, a.records(t, columns, zone), want.Progress)
				if diff := cmp.Diff(want.Data, got); diff != "" {
					t.Fatalf("%s as %s (-want +got): %s", path, media, diff)
				}
				if header := a.Header.Get("X-Changes-Token"); header != "" {
					next = header
				}
			}
			if upToDate = want.Progress.UpToDate; !upToDate {
				more++
			}
			token = next
		}
	}
	met.want(t, effort.Often(1, 4))
	if more < effort.Often(2, 8) {
		t.Errorf("only %d pages that are not up to date", more)
	}
}

// TestFeedTablesWait: a table waits for its first row like JSON; HEAD has its
// type, and nothing that depends on rows; a tail stays NDJSON.
func TestFeedTablesWait(t *testing.T) {
	t.Parallel() // it mostly waits
	columns := map[string][]frame.Column{feedAt: query.FeedColumns(query.Include{}), alertsAt: query.RecordColumns[query.Alert]()}
	for path, begin := range map[string]string{feedAt: "site=shop-one", alertsAt: "rule=PRICE_BELOW&price=15.01&currencyCode=EUR"} {
		for _, media := range []string{csvMedia, parquetMedia} {
			s := serve(t)
			token := decode[page](t, s.get(path+"?"+begin, s.token(reader))).Progress.Token
			waited := waiting(t, func() answer { return s.getAs(path+"?wait=25s&since="+token, media) })
			s.store.arrive(1)
			a := <-waited
			if rows := a.records(t, columns[path], time.UTC); len(rows) != 1 || a.Header.Get("X-Results-Returned") != "1" || a.Header.Get("X-Changes-Up-To-Date") != "true" {
				t.Errorf("%s as %s: %v, %v", path, media, a.Header, rows)
			}
			r := s.request("HEAD", path+"?since="+token, s.token(reader), nil)
			r.Header.Set("Accept", media)
			if h := s.do(r); h.StatusCode != 200 || !strings.HasPrefix(h.Header.Get("Content-Type"), media) || h.Header.Get("X-Changes-Token") != "" || h.Header.Get("Content-Length") != "" {
				t.Errorf("HEAD %s as %s: %d %v", path, media, h.StatusCode, h.Header)
			}
		}
	}
	s := serve(t, func(set *settings) { set.unchecked = true })
	r := s.request("GET", feedAt+"?follow=true", s.token(reader), nil)
	r.Header.Set("Accept", csvMedia)
	resp := must.Get(s.client.Do(r))(t)
	defer resp.Body.Close()
	var first controlLine
	if must.Do(t, json.NewDecoder(resp.Body).Decode(&first)); resp.Header.Get("Content-Type") != ndjsonMedia || first.Control != "progress" {
		t.Errorf("a tail as CSV: %v, %+v", resp.Header, first)
	}
}

// TestFeedTableBudget: a table that would be too large is refused, without a
// token that would pass its rows, and gives back what it held.
func TestFeedTableBudget(t *testing.T) {
	s := serve(t, func(set *settings) {
		set.throttle.Reads.Requests, set.query.MaxResponseBytes, set.rest.MaxResponseBytes = 1_000, 4_000, 4_000
	})
	begun := s.changes("includeExportFields=true").Progress.Token
	s.store.arrive(500)
	for _, media := range []string{csvMedia, arrowMedia, parquetMedia} {
		a := s.getAs(feedAt+"?limit=500&since="+begun, media)
		a.wantProblem(t, http.StatusBadRequest, "RESPONSE_TOO_LARGE")
		if a.Header.Get("X-Changes-Token") != "" || a.Header.Get("X-Changes-Up-To-Date") != "" || a.Header.Get("Link") != "" {
			t.Errorf("%s: %v", media, a.Header)
		}
	}
	equals.Is(t, 0, s.service.Admission().Stats().Held, "bytes are still held")
}

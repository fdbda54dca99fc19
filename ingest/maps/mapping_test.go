package maps_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

func pack(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.Bytes()
}

func TestForms(t *testing.T) {
	csv := header + "a.example,1,,N,2026-02-01T10:00:00Z,1,,,,,,,\r\n\r\n" + "a.example,2,,N,2026-02-01T10:00:00Z,1,,,,,,,"
	z := must.Get(zstd.NewWriter(nil))(t)
	m, _ := maps.ParseMapping([]byte(head))
	try := func(b []byte) (*result, error) {
		file := filepath.Join(t.TempDir(), "file.bin")
		must.Do(t, os.WriteFile(file, b, 0o600))
		return importFile(t, m, file)
	}
	for name, b := range map[string][]byte{
		"plain": []byte(csv), "bom": []byte("\ufeff" + csv), "gzip": pack(csv), "zstd": z.EncodeAll([]byte(csv), nil),
	} {
		r, err := try(b)
		if err != nil || r.sum.Accepted != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := header + "\"" + strings.Repeat("a,b\n", 5<<20)
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":      {nil, "empty: it has no header line"},
		"utf-16":     {[]byte("\xff\xfes\x00h\x00"), "UTF-16"},
		"zip":        {[]byte("PK\x03\x04..."), "save it as CSV"},
		"cut gzip":   {pack(csv)[:60], "cannot be read"},
		"no columns": {[]byte("shop,sku,price,at\n"), `the file has no column "box", "cur", "ean", "link", "name", "seller", "ship", "stock"; its columns are "at", "price", "shop", "sku"`},
		"twice":      {[]byte(strings.Replace(header, "extra", "price", 1)), `has the column "price" more than once`},
		"open quote": {[]byte(long), "a quotation mark there never ends"},
	} {
		if _, err := try(c.b); err == nil || !strings.Contains(err.Error(), c.want) || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := importFile(t, m, t.TempDir()); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("folder: %v", err)
	}
	if _, err := importFile(t, m, "nowhere.csv"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("no file: %v", err)
	}
}

func TestOpenQuoteAtTheEnd(t *testing.T) {
	r := mustImport(t, head, header+"a.example,1,,N,2026-02-01T10:00:00Z,1,,,,,,,\n"+"a.example,\"1,,N\n2\n3\n")
	if r.sum.Rows != 2 || r.sum.Rejected != 1 || !strings.Contains(r.rejects, `"line":3,`) || !strings.Contains(r.rejects, "lines 3 to ") {
		t.Errorf("%s", r.rejects)
	}
}

func TestRequest(t *testing.T) {
	_, err := maps.Import(t.Context(), maps.Request{}, nil)
	if err == nil || err.Error() != "file: missing; mapping: missing; mandate: missing; login: missing; password: missing" {
		t.Error(err)
	}
	m, _ := maps.ParseMapping([]byte(head))
	file := filepath.Join(t.TempDir(), "file.csv")
	must.Do(t, os.WriteFile(file, []byte(header+"a.example,1,,N,2026-02-01T10:00:00Z,1,,,,,,,\n"), 0o600))
	req := maps.Request{File: file, Mapping: m, Mandate: "M", Login: "l", PasswordHash: phc("c2FsdHNhbHQ")}
	away := errors.New("away")
	if _, err := maps.Import(t.Context(), req, func(context.Context, *event.Event) error { return away }); !errors.Is(err, away) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := maps.Import(ctx, req, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// A file that grows between the passes.
	grow := func(_ context.Context, e *event.Event) error {
		if e.Kind != event.KindSite {
			return nil
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString("a.example,2,,N,2026-02-01T10:00:00Z,1,,,,,,,\n")
		return err
	}
	if _, err := maps.Import(t.Context(), req, grow); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Error(err)
	}
	var passes []int
	req.Progress = func(p maps.Progress) { passes = append(passes, p.Pass) }
	sum, err := maps.Check(t.Context(), req)
	if err != nil || sum.Accepted != 2 || sum.Events != 0 || sum.Batches != 1 || passes[0] != 1 || passes[len(passes)-1] != 2 {
		t.Error(err, sum, passes)
	}
	if strings.Contains(sum.String(), "\n  events") {
		t.Errorf("a check tells of events:\n%s", sum)
	}
}

func TestMappingFaults(t *testing.T) {
	for _, c := range []struct{ change, by, want string }{
		{"  price: price\n", "  price: price\n  colour: red\n", `unknown field "colour"`},
		{"padTo12: true", "padTo13: true", `unknown field "padTo13"`},
		{"source: test\n", "", "source: missing"},
		{"  site: shop\n", "", "columns.site: missing"},
		{"  price: price\n", "", "columns.price: missing"},
		{"  price: price\n", "  price: {column: price, decimal: x}\n", `columns.price.decimal: "x" is neither`},
		{"zone: Europe/Berlin", "zone: Europe/Nowhere", "not an IANA time zone"},
		{"zone: Europe/Berlin", "layouts: [xyz]", `"xyz" is neither a layout`},
		{"type: shop", "type: kiosk", `siteType: "kiosk" is none of`},
		{"site: b.example", "site: a.example", "other facts for a.example"},
		{"sites:", "sitez:", `unknown field "sitez"`},
		{`no: ["no"]`, `no: ["yes"]`, `"yes" means yes and no`},
		{"columns:", "columns: [", "mapping:"},
	} {
		if !strings.Contains(head, c.change) {
			t.Fatalf("the mapping has no %q", c.change)
		}
		_, err := maps.ParseMapping([]byte(strings.Replace(head, c.change, c.by, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v\nwant %s", c.by, err, c.want)
		}
		if strings.Contains(c.want, "unknown field") && !regexp.MustCompile(`\[\d+:\d+\]`).MatchString(err.Error()) {
			t.Errorf("%q: no line in %v", c.by, err)
		}
	}
	_, err := maps.ParseMapping([]byte(strings.Replace(head, "padTo12", "padTo13", 1)))
	if err == nil || !strings.Contains(err.Error(), "[6:") {
		t.Errorf("want line 6 of the mapping: %v", err)
	}
	if _, err := maps.ParseMapping([]byte(head + "---\nsource: b\n")); err == nil {
		t.Error("two documents taken")
	}
}

func TestBuiltinMappings(t *testing.T) {
	for _, name := range []string{"observations", "marketplace-offers", "example"} {
		if _, err := maps.Builtin(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := maps.Builtin("none"); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

func TestClockChanges(t *testing.T) {
	row := func(at string) string { return "a.example," + at + ",,N," + at + ",1,,,,,,,\n" }
	r := mustImport(t, head, header+row("2025-03-30 02:30:00")+row("2025-10-26 02:30:00")+row("2025-10-26 04:30:00"))
	for _, c := range r.sum.Warnings {
		if strings.Contains(c.What, "change of the clock") {
			if c.N != 2 {
				t.Errorf("%d, want 2", c.N)
			}
			return
		}
	}
	t.Error("not counted")
}

// TestEncodings: the two old encodings that a mapping can name are read
// correctly. They differ in byte 80, which is € only in Windows-1252.
func TestEncodings(t *testing.T) {
	const line = "laden.example,1,4006381333931,Gr\xf6\xdfe \x80,2026-02-01T10:00:00Z,1,,,,,,,\n"
	for name, want := range map[string]string{"latin-1": "Größe \u0080", "windows-1252": "Größe €"} {
		m := must.Get(maps.ParseMapping([]byte(strings.ReplaceAll(head, "source:", "csv: {encoding: "+name+"}\nsource:") + "defaultSite: {type: shop, country: DE, currency: EUR}\n")))(t)
		file := filepath.Join(t.TempDir(), "old.csv")
		must.Do(t, os.WriteFile(file, []byte(header+line), 0o600))
		r := must.Get(importFile(t, m, file))(t)
		if items := all[contracts.Item](r); len(items) != 1 || items[0].Name != want {
			t.Errorf("%s: %+v", name, items)
		}
	}
	if _, err := maps.ParseMapping([]byte("source: x\ncsv: {encoding: Latin-2}\n")); err == nil || !strings.Contains(err.Error(), `"Latin-2" is none of utf-8, utf-16, windows-1252, latin-1`) {
		t.Error(err)
	}
}

// TestTwoBytesWithoutAMark: UTF-16 without a byte order mark is recognized by
// its zero bytes.
func TestTwoBytesWithoutAMark(t *testing.T) {
	text := strings.ReplaceAll(header, ",", ";") + "laden.example;1;4006381333931;Größe;2026-02-01T10:00:00Z;1;;;;;;;\n"
	var wide []byte
	for _, u := range utf16.Encode([]rune(text)) {
		wide = binary.LittleEndian.AppendUint16(wide, u)
	}
	file := filepath.Join(t.TempDir(), "prices.csv")
	must.Do(t, os.WriteFile(file, wide, 0o600))
	g, err := maps.GuessMapping(file, "", guessNow)
	if err != nil || g.Mapping.CSV.Encoding != "utf-16" {
		t.Fatalf("%+v, %v", g, err)
	}
}

// TestShortOffset: an offset of hours only, as Postgres writes it, is the zone of
// the time, also without a layout for it; a zone's abbreviation is none.
func TestShortOffset(t *testing.T) {
	for _, c := range []struct{ layouts, at, want string }{
		{`layouts: ["2006-01-02 15:04:05-07"], zone: Europe/Berlin`, "2026-02-01 09:00:00+00", "2026-02-01T09:00:00Z"},
		{`layouts: ["2006-01-02 15:04:05Z07"]`, "2026-02-01 09:00:00+02", "2026-02-01T07:00:00Z"},
		{"layouts: [rfc3339]", "2026-02-01 09:00:00.5-03", "2026-02-01T12:00:00Z"},
		{"layouts: [rfc3339]", "2026-02-01 09:00:00+05:30", "2026-02-01T03:30:00Z"},
		{`layouts: ["02.01.2006 15:04 -0700"]`, "01.02.2026 09:00 +0100", "2026-02-01T08:00:00Z"},
	} {
		m, err := maps.ParseMapping([]byte("source: s\ncolumns: {site: {value: a.example}, productKey: k, price: p, capturedAt: {column: at, " + c.layouts + "}}\ndefaultSite: {type: shop, country: DE, currency: EUR}\n"))
		if err != nil {
			t.Errorf("%s: %v", c.layouts, err)
			continue
		}
		file := filepath.Join(t.TempDir(), "x.csv")
		must.Do(t, os.WriteFile(file, []byte("k,p,at\nA,1.20,"+c.at+"\n"), 0o600))
		rows := must.Get(maps.Preview(file, m, guessNow))(t)
		if rows[0].CapturedAt != c.want {
			t.Errorf("%s: %+v", c.layouts, rows[0])
		}
	}
	_, err := maps.ParseMapping([]byte("source: s\ncolumns: {site: {value: a.example}, productKey: k, price: p, capturedAt: {column: at, layouts: [\"2006-01-02 15:04 MST\"], zone: UTC}}\ndefaultSite: {type: shop, country: DE, currency: EUR}\n"))
	if err == nil || !strings.Contains(err.Error(), "is neither a layout") {
		t.Errorf("MST: %v", err)
	}
}

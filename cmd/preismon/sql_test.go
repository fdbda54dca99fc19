package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// sql: SQL queries of a login cover exactly the rows that it reads in other
// ways; a statement can change nothing, and is held to its limits.
func (d *demoTest) sql(t *testing.T) {
	effort.Full(t, "SQL of every account, each on a ClickHouse of its own")
	flags, _ := past()
	flags = append(flags, "--site", "demo-markt-de.example")
	to := time.Now().UTC().Add(-time.Hour)
	everything := []string{"--global-scope", "--from", to.Add(-160 * time.Hour).Format(time.RFC3339), "--to", to.Format(time.RFC3339)}
	for _, name := range []string{"anna", "bert", "emil", "gustav"} { // all, one order, no files, nothing
		t.Run(name, func(t *testing.T) {
			p := d.person(t, "PREISMON_PASSWORD="+d.account(t, name).Password)
			p.run(0, "login", "--login", d.account(t, name).LoginIdentifier)
			if name == "anna" || name == "emil" { // one that may see them, and one that may not
				p.sameInSQL(t, flags)
			}
			if n := p.sameInSQL(t, everything); n == 0 && name != "gustav" { // which sees nothing
				t.Error("no rows were compared")
			}
		})
	}
	scratch := t.TempDir()
	p := d.person(t, "PREISMON_PASSWORD="+d.account(t, "hanna").Password, "TMPDIR="+scratch)
	p.run(0, "login", "--login", d.account(t, "hanna").LoginIdentifier)
	folder := filepath.Join(t.TempDir(), "hanna's prices")
	p.run(0, append([]string{"export", "--split", "day", "-o", folder}, flags...)...)
	whole, _ := p.run(0, append([]string{"sql", "SELECT count() FROM results"}, flags...)...)
	days, _ := p.run(0, "sql", "--in", folder, "SELECT count() FROM results WHERE day > '2000-01-01'")
	if whole != days || len(whole) < len("count()\n100\n") {
		t.Errorf("%q of a read, %q of the folder of days", whole, days)
	}
	for _, c := range []struct {
		code  int
		args  []string
		words string
	}{
		{exitFailed, []string{"SELECT x FROM results"}, "Unknown expression identifier `x`"},
		{exitFailed, []string{"SELEC 1"}, "Syntax error: failed at position 7 (1): 1. (SYNTAX_ERROR)"},
		{exitFailed, []string{"DROP TABLE results"}, "ACCESS_DENIED"},
		{exitFailed, []string{"INSERT INTO results SELECT * FROM results"}, "INSERT"},
		{exitFailed, []string{"SELECT * FROM system.users"}, "ACCESS_DENIED"},
		{exitFailed, []string{"SELECT * FROM url('http://127.0.0.1:1/', CSV, 'a String')"}, "ACCESS_DENIED"},
		{exitFailed, []string{"--rows", "3", "SELECT * FROM results"}, "TOO_MANY_ROWS_OR_BYTES"},
		{exitFailed, []string{"--time", "100ms", "SELECT count() FROM numbers(1000000000000)"}, "TIMEOUT_EXCEEDED"},
		{exitFailed, []string{"--memory", "16", "SELECT length(groupArray(number)) FROM numbers(10000000)"}, "MEMORY_LIMIT_EXCEEDED"},
		{exitUsage, []string{"--time", "0s", "--memory", "0", "--rows=-1", "SELECT 1"}, "preismon: --time: 0s, must be positive\npreismon: --memory: 0, must be positive\npreismon: --rows: -1, must not be negative\n"},
		{exitUsage, []string{"--site", "shop-one", "SELECT 1"}, "in: it reads local files"},
	} {
		out, said := p.run(c.code, append([]string{"sql", "--in", folder}, c.args...)...)
		if out != "" || !strings.Contains(said, c.words) || strings.Contains(said, "DB::") || strings.Contains(said, "(version") {
			t.Errorf("%q: %s%s", c.args, out, said)
		}
	}
	for _, missing := range []string{t.TempDir(), filepath.Join(folder, "nothing")} {
		if _, said := p.run(exitFailed, "sql", "--in", missing, "SELECT 1"); !strings.Contains(said, missing) {
			t.Errorf("it says %s", said)
		}
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// sqlRow selects a row in the format of sqlRowOf.
const sqlRow = `SELECT concatWithSeparator('|', itemId, site, toString(toUnixTimestamp64Milli(capturedAt)), availability, ifNull(merchant, ''), ` +
	`ifNull(toString(priceMoney.amountMinor), ''), ifNull(priceMoney.currencyCode, '')) AS row FROM results`

// sqlRowOf formats a row of a stream like sqlRow.
func sqlRowOf(t *testing.T, line string) string {
	t.Helper()
	var r struct {
		ItemID, Site, Availability string
		CapturedAt                 time.Time
		Merchant                   *string
		PriceMoney                 *struct {
			AmountMinor  int64
			CurrencyCode string
		}
	}
	must.Do(t, json.Unmarshal([]byte(line), &r))
	words := []string{r.ItemID, r.Site, strconv.FormatInt(r.CapturedAt.UnixMilli(), 10), r.Availability, "", "", ""}
	if r.Merchant != nil {
		words[4] = *r.Merchant
	}
	if r.PriceMoney != nil {
		words[5], words[6] = strconv.FormatInt(r.PriceMoney.AmountMinor, 10), r.PriceMoney.CurrencyCode
	}
	return strings.Join(words, "|")
}

// sameInSQL compares the rows of a stream with those of SQL, and returns their
// number; if one is refused, the other must be, too.
func (p *person) sameInSQL(t *testing.T, flags []string) int {
	t.Helper()
	rows, refused, code := preismon(t, p.env, append([]string{"stream"}, flags...)...)
	if code != 0 { // the site is not one of theirs
		if _, said := p.run(code, append([]string{"sql", "SELECT 1"}, flags...)...); said != refused {
			t.Errorf("a stream is refused by %q, SQL by %q", refused, said)
		}
		return 0
	}
	var want []string
	for line := range strings.Lines(rows) {
		want = append(want, sqlRowOf(t, line))
	}
	out, said := p.run(0, append([]string{"sql", "--format", "TSVRaw", sqlRow}, flags...)...)
	got := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if out == "" {
		got = nil
	}
	slices.Sort(want)
	slices.Sort(got)
	equals.Slices(t, want, got, "%v: %d rows in SQL, %d in the stream, or others", flags, len(got), len(want))
	if !strings.Contains(said, thousands(len(want))+" rows in table results.") {
		t.Errorf("it says %s", said)
	}
	return len(want)
}

// TestConverse: statements are run one after the other; one that fails ends the
// session.
func TestConverse(t *testing.T) {
	rows := filepath.Join(t.TempDir(), "rows.csv")
	must.Do(t, os.WriteFile(rows, []byte("site,cents\nshop-one,1250\nshop-two,999\n"), 0o600))
	for _, c := range []struct {
		in, out string
		code    int
	}{
		{"SELECT count() FROM results;\n\n;\nSELECT min(cents)\nFROM results;\nSELECT 'a;b' AS text", "count()\n2\nmin(cents)\n999\ntext\na;b\n", 0},
		{"SELECT nothing;\nSELECT 1;\n", "", exitFailed},
		{"", "", 0},
	} {
		var out, errs strings.Builder
		code := run(t.Context(), []string{"sql", "--in", rows}, streams{strings.NewReader(c.in), &out, &errs})
		if out.String() != c.out || code != c.code || !strings.Contains(errs.String(), "2 rows in table results.") {
			t.Errorf("%q: %q, exit code %d, %s", c.in, &out, code, &errs)
		}
	}
}

// TestSQLOfArrow: Arrow streams, which exports write, are read like Arrow files,
// which ClickHouse writes, and so is a folder of streams.
func TestSQLOfArrow(t *testing.T) {
	t.Parallel()
	shop := &shopOfOneDay{hold: func() {}}
	shop.rows.Store(2)
	server := httptest.NewServer(shop)
	defer server.Close()
	dir := t.TempDir()
	days, stream, short, file := filepath.Join(dir, "days"), filepath.Join(dir, "rows.arrow"), filepath.Join(dir, "rows.arrows"), filepath.Join(dir, "file.arrow")
	ask := func(args ...string) string {
		t.Helper()
		out, errs, code := inProcess(t, args...)
		if code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, errs)
		}
		return out
	}
	for _, to := range [][]string{{"-o", stream}, {"-o", short}, {"--split", "day", "--format", "arrow", "-o", days}} {
		ask(slices.Concat([]string{"export", "--url", server.URL, "--token", "any"}, to)...)
	}
	must.Do(t, os.WriteFile(file, []byte(ask("sql", "--in", stream, "--format", "Arrow", "SELECT * FROM results")), 0o600))
	for _, in := range []string{stream, short, days, file} {
		equals.Is(t, "count()\n2\n", ask("sql", "--in", in, "SELECT count() FROM results"), "%s", in)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/cmd/preismon/client"
	"preismon/contracts"
	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/must"
	"preismon/query/table/tabletest"
)

// person is a user with a config folder of their own.
type person struct {
	t      *testing.T
	dir    string
	env    []string
	within []string // flags of commands that run within the test: a process costs more than most answers
}

func (d *demoTest) person(t *testing.T, env ...string) *person {
	t.Helper()
	dir := t.TempDir()
	return &person{t, dir, append([]string{"XDG_CONFIG_HOME=" + dir, "PREISMON_URL=" + d.up.URL}, env...), nil}
}

// within returns a person whose commands run within the test, with the token of
// an account.
func (d *demoTest) within(t *testing.T, name string) *person {
	t.Helper()
	p := d.person(t)
	p.within = []string{"--url", d.up.URL, "--token", d.client(t, name).token}
	return p
}

// run runs a command that must exit with code.
func (p *person) run(code int, args ...string) (stdout, stderr string) {
	p.t.Helper()
	var out, errs string
	var got int
	if p.within != nil {
		out, errs, got = inProcess(p.t, slices.Concat(args, p.within)...)
	} else {
		out, errs, got = preismon(p.t, p.env, args...)
	}
	if got != code {
		p.t.Fatalf("preismon %s: exit code %d, want %d: %s", strings.Join(args, " "), got, code, errs)
	}
	return out, errs
}

// past returns a window that no longer changes, as flags and as parameters.
func past() (flags []string, params url.Values) {
	to := time.Now().UTC().Add(-time.Hour)
	const form = "2006-01-02T15:04:05.000Z"
	from, until := to.Add(-170*time.Hour).Format(form), to.Format(form)
	return []string{"--from", from, "--to", until}, url.Values{"capturedFrom": {from}, "capturedTo": {until}}
}

// commands: the client commands show what the service has.
func (d *demoTest) commands(t *testing.T) {
	anna := d.account(t, "anna")
	c := d.client(t, "anna")
	p := d.person(t, "PREISMON_PASSWORD="+anna.Password)
	if _, errs := p.run(exitFailed, "sites"); !strings.Contains(errs, "run: preismon login --url "+d.up.URL) {
		t.Errorf("without a login: %s", errs)
	}
	if out, _ := p.run(0, "login", "--login", anna.LoginIdentifier); !strings.Contains(out, anna.LoginIdentifier) {
		t.Errorf("login: %s", out)
	}
	kept, err := filepath.Glob(filepath.Join(p.dir, "preismon", "tokens", "*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %v %v", kept, err)
	}
	info := must.Get(os.Stat(kept[0]))(t)
	text, err := os.ReadFile(kept[0])
	if info.Mode().Perm() != 0o600 || bytes.Contains(text, []byte(anna.Password)) || err != nil {
		t.Errorf("%s: mode %v, %s, %v", kept[0], info.Mode(), text, err)
	}

	t.Run("lists", func(t *testing.T) {
		p := d.within(t, "anna")
		for _, list := range []struct{ command, path, id string }{{"sites", "/v1/sites", "site"}, {"items", "/v1/items", "itemId"}, {"orders", "/v1/orders", "orderId"}} {
			out, _ := p.run(0, list.command)
			cells := must.Get(csv.NewReader(strings.NewReader(first(p.run(0, list.command, "--format", "csv")))).ReadAll())(t)
			table, _ := p.run(0, list.command, "--format", "table")
			var ids, inCSV []string
			for line := range strings.Lines(out) {
				var record map[string]any
				must.Do(t, json.Unmarshal([]byte(line), &record))
				ids = append(ids, record[list.id].(string))
			}
			for _, row := range cells[1:] {
				inCSV = append(inCSV, row[0])
			}
			want := listAll(t, c, list.path, list.id)
			slices.Sort(ids)
			slices.Sort(inCSV)
			if diff := cmp.Diff(want, ids) + cmp.Diff(want, inCSV); diff != "" || strings.Count(table, "\n") != len(want)+1 || strings.Contains(table, "\x1b") {
				t.Errorf("%s: %s\n%s", list.command, diff, table)
			}
		}
	})

	t.Run("coverage", func(t *testing.T) {
		p := d.within(t, "anna")
		for _, form := range []string{"csv", "table"} {
			out, _ := p.run(0, "orders", "--coverage", "--format", form)
			for _, name := range []string{"coverage.configuredPairs", "coverage.observedPairs", "coverage.ratio", "health"} {
				if !strings.Contains(strings.SplitN(out, "\n", 2)[0], name) || strings.Contains(out, "{") {
					t.Errorf("as %s it has no %s, or JSON:\n%s", form, name, out)
				}
			}
		}
		if out, errs := p.run(0, "orders", "--alias", "nowhere", "--format", "table"); out != "" || errs != "No rows.\n" {
			t.Errorf("no orders: %q, %q", out, errs)
		}
	})

	d.searches(t)
	t.Run("explain", d.explains)
	t.Run("results", d.sameRows)
	t.Run("split", d.splitExport)
	t.Run("sql", d.sql)
	t.Run("cut", func(t *testing.T) { d.cutStreams(t, c) })
	t.Run("elsewhere", func(t *testing.T) { d.exportedFromElsewhere(t, c) })
	t.Run("files", func(t *testing.T) { d.downloads(t, p, c) })

	p.run(0, "logout")
	if _, errs := p.run(exitFailed, "sites"); !strings.Contains(errs, "not logged in") {
		t.Errorf("after logout: %s", errs)
	}
	var token struct{ Token string }
	must.Do(t, json.Unmarshal(text, &token))
	p.env = append(p.env, "PREISMON_TOKEN="+token.Token)
	if _, errs := p.run(exitFailed, "sites"); !strings.Contains(errs, "expired or was revoked. Run: preismon login --url "+d.up.URL) || strings.Contains(errs, token.Token) {
		t.Errorf("with a revoked token: %s", errs)
	}
}

func first(out, _ string) string { return out }

// sameRows: pages, stream and both formats of export have the rows of the
// service, over a window that is refused as a whole (RES-04c, RES-12). Hanna
// sees few pairs, but some of every kind.
func (d *demoTest) sameRows(t *testing.T) {
	p, c := d.within(t, "hanna"), d.client(t, "hanna")
	flags, params := past()
	flags = append(flags, "--global-scope", "--include", "export-fields,identity")
	var want []string
	sites := listAll(t, c, "/v1/sites", "site")
	plain := *c
	plain.http = http.DefaultClient // checking so many rows against the contract is left to other tests
	c = &plain
	for _, site := range sites {
		one := maps.Clone(params)
		one.Set("site", site)
		one.Set("includeExportFields", "true")
		one.Set("includeIdentity", "true")
		if _, _, err := c.stream("/v1/results/stream", one, func(line []byte) error {
			want = append(want, string(line))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	file := filepath.Join(t.TempDir(), "x.ndjson")
	table := filepath.Join(t.TempDir(), "x.csv")
	p.run(0, append([]string{"export", "-o", file}, flags...)...)
	exported := must.Get(os.ReadFile(file))(t)
	for name, text := range map[string]string{
		"stream": first(p.run(0, append([]string{"stream"}, flags...)...)), "results": first(p.run(0, append([]string{"results"}, flags...)...)), "export": string(exported),
	} {
		got := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if !slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(captured(b), captured(a)) }) {
			t.Errorf("%s: not by time", name)
		}
		slices.Sort(got)
		if len(got) < 1000 || !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, the service has %d, or others", name, len(got), len(want))
		}
	}
	p.run(0, append([]string{"export", "--format", "csv", "-o", table}, flags...)...)
	opened := must.Get(os.Open(table))(t)
	defer opened.Close() //nolint:errcheck // read to its end
	cells, err := csv.NewReader(opened).ReadAll()
	if err != nil || len(cells) != len(want)+1 {
		t.Fatalf("%d lines of CSV, %v", len(cells), err)
	}
	if _, err := os.Stat(file + ".part"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a part is left: %v", err)
	}
	lines := strings.Split(string(exported), "\n")
	for i, row := range cells[1:] {
		var record struct{ ItemID, CapturedAt, OfferTitle string }
		must.Do(t, json.Unmarshal([]byte(lines[i]), &record))
		cell := func(name string) string { return row[slices.Index(cells[0], name)] }
		if cell("itemId") != record.ItemID || cell("capturedAt") != record.CapturedAt || strings.TrimPrefix(cell("offerTitle"), "'") != record.OfferTitle {
			t.Fatalf("line %d of CSV is %q, of NDJSON %s", i+2, row, lines[i])
		}
	}
	d.tables(t, p, c, flags, slices.DeleteFunc(lines, func(l string) bool { return !strings.Contains(l, `"site":"demo-markt-de.example"`) }))
	if out, _ := p.run(0, append([]string{"results", "--limit", "7", "--format", "table"}, flags...)...); strings.Count(out, "\n") != 8 {
		t.Errorf("seven rows: %s", out)
	}
	t.Logf("%d rows", len(want))
}

// tables: an export of a site as Arrow or Parquet has exactly the records of
// the one as NDJSON, and one as CSV is byte for byte what the service sends as
// CSV.
func (d *demoTest) tables(t *testing.T, p *person, c *api, flags, lines []string) {
	want, err := tabletest.Lines([]byte(strings.Join(lines, "\n")))
	if err != nil || len(want) < 100 {
		t.Fatalf("%d rows, %v", len(want), err)
	}
	flags = append(slices.Clone(flags), "--site", "demo-markt-de.example")
	flags = slices.DeleteFunc(flags, func(f string) bool { return f == "--global-scope" })
	for form, read := range map[string]func([]byte, *time.Location) ([]tabletest.Record, error){"arrow": tabletest.Arrow, "parquet": tabletest.Parquet} {
		file := filepath.Join(t.TempDir(), "x."+form)
		p.run(0, append([]string{"export", "--format", form, "-o", file}, flags...)...)
		text := must.Get(os.ReadFile(file))(t)
		got, err := read(text, time.UTC)
		if err != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%s: %v %.2000s", form, err, cmp.Diff(want, got))
		}
	}
	_, params := past()
	params.Set("site", "demo-markt-de.example")
	args := []string{"export", "--format", "csv", "--site", params.Get("site"), "--from", params.Get("capturedFrom"), "--to", params.Get("capturedTo"), "--include"}
	args = append(args, "export-fields,coverage,customer-data,order-ids,identity")
	for _, group := range includes {
		params.Set(group, "true")
	}
	served := func() string {
		r := must.Get(c.at().Request(t.Context(), http.MethodGet, "/v1/results/stream?"+params.Encode(), nil))(t)
		r.Header.Set("Accept", "text/csv")
		return string(must.Get(caller.Read(c.http.Do(r)))(t).Text)
	}
	// The market goes on: the time a pair was last processed may change between
	// two reads.
	sent, got := served(), ""
	for range 5 {
		if got = first(p.run(0, args...)); got == sent {
			break
		}
		if sent = served(); got == sent {
			break
		}
	}
	if got != sent || strings.Count(got, "\n") < 100 {
		t.Errorf("%d bytes of CSV, of the service %d", len(got), len(sent))
	}
}

func captured(line string) string {
	var r struct{ CapturedAt string }
	_ = json.Unmarshal([]byte(line), &r)
	return r.CapturedAt
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		b.by.n++
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// downloads: an archived file arrives unchanged, also over a network that cuts
// connections.
func (d *demoTest) downloads(t *testing.T, p *person, c *api) {
	order := ordersOf(t, p)["buybox"]
	status, want := c.get("/v1/orders/"+order+"/exports/history/download", url.Values{"latest": {"true"}})
	if status != http.StatusOK || len(want) < 1000 {
		t.Fatalf("%d, %d bytes", status, len(want))
	}
	if _, errs := p.run(exitFailed, "history", "download", order); !strings.HasSuffix(errs, "Here: --name, --export-name, --from, --to, --latest\n") {
		t.Errorf("one of several: %s", errs)
	}
	if out, _ := p.run(0, "explain", "history", "download", order, "--latest"); !strings.Contains(out, "bytes, at most      "+thousands(len(want))+"\n") || !strings.Contains(out, "type                application/zip\n") {
		t.Errorf("explained, of %d bytes: %s", len(want), out)
	}
	name := filepath.Join(t.TempDir(), "file")
	p.run(0, "history", "download", order, "--latest", "-o", name)
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d, %v", len(got), len(want), err)
	}
	cuts := &cutTransport{next: openapitest.Transport(http.DefaultTransport, func(err error) { t.Error(err) }), size: int64(len(want)) / 2}
	reader := must.Get(client.New(client.Config{URL: d.up.URL, Token: contracts.Secret(c.token), Transport: cuts, Wait: func(context.Context, time.Duration) error { return nil }}))(t)
	file := must.Get(reader.Download(t.Context(), "exports", order, url.Values{"latest": {"true"}}))(t)
	defer file.Close() //nolint:errcheck // read to its end
	if got, err = io.ReadAll(file); err != nil || !bytes.Equal(got, want) || cuts.n == 0 || file.Size != int64(len(want)) {
		t.Errorf("after %d cuts %d of %d bytes, %v", cuts.n, len(got), len(want), err)
	}
	if !strings.HasPrefix(file.Name, "demo-buybox-") {
		t.Errorf("the name is %q", file.Name)
	}
}

// ordersOf returns the ids of the orders by alias.
func ordersOf(t *testing.T, p *person) map[string]string {
	t.Helper()
	all := must.Get(csv.NewReader(strings.NewReader(first(p.run(0, "orders", "--format", "csv")))).ReadAll())(t)
	byAlias := map[string]string{}
	for _, row := range all[1:] {
		byAlias[row[1]] = row[0]
	}
	return byAlias
}

// readme: the lines of "On the command line" do what they say.
func (d *demoTest) readme(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "README.md")))(t)
	_, section, ok := strings.Cut(string(text), "\n## On the command line\n")
	if !ok {
		t.Fatal("no such section")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var script []string
	for line := range strings.Lines(section) {
		if code, ok := strings.CutPrefix(line, "    "); ok {
			script = append(script, strings.TrimSpace(code))
		}
	}
	if len(script) < 8 {
		t.Fatalf("only %d lines", len(script))
	}
	binary := must.Get(os.Executable())(t)
	bin, work := t.TempDir(), t.TempDir()
	must.Do(t, os.Symlink(binary, filepath.Join(bin, "preismon")))
	p := d.person(t, "PREISMON_PASSWORD="+d.account(t, "anna").Password, "PATH="+bin+":"+os.Getenv("PATH"))
	cmd := command(t, p.env)
	cmd.Path = must.Get(exec.LookPath("bash"))(t)
	cmd.Args, cmd.Dir = []string{"bash", "-e", "-o", "pipefail", "-c", strings.Join(script, "\n")}, work
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	contains(t, string(out), "Logged in", "demo-markt-de.example", "Logged out")
	// In a market as small as this one, some hours of a day have neither.
	if !strings.Contains(string(out), "UNAVAILABLE") && !strings.Contains(string(out), "The newest row is of ") {
		t.Errorf("neither what is unavailable nor when something was, in:\n%s", out)
	}
	files, _ := filepath.Glob(filepath.Join(work, "*"))
	if len(files) != 3 { // latest.csv, prices.parquet and the archived file
		t.Errorf("files %v", files)
	}
}

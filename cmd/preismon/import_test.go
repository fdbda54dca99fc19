package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// shopMap maps the columns of shopCSV; both are invented.
const shopMap = `
source: invented
columns:
  site: shop
  productKey: sku
  ean: ean
  name: name
  brand: {value: Inventa}
  capturedAt: {column: seen, layouts: [datetime], zone: Europe/Berlin}
  price: {column: price, decimal: ","}
  currency: {column: currency}
  availability: {column: stock, yes: ["1"], no: ["0"]}
  merchant: seller
sites:
  alpha.example: {name: Alpha, type: shop, country: DE, currency: EUR}
  beta.example: {name: Beta, type: marketplace, country: DE, currency: EUR}
  gamma.example: {name: Gamma, type: shop, country: JP, currency: JPY}
`

// shopCSV has an EAN at two sites, several offers in one capture, a wrong check
// digit, a price in a currency without decimals, and four invalid rows.
const shopCSV = `shop;sku;ean;name;seen;price;currency;stock;seller
alpha.example;A-1;4006381333931;Pen;2026-03-10 12:00:00;1,20;EUR;1;Alpha
beta.example;B-7;4006381333931;Pen;2026-03-10 12:05:00;1,10;EUR;1;Kiosk
beta.example;B-7;4006381333931;Pen;2026-03-10 12:05:00;1,15;EUR;1;Corner
beta.example;B-7;4006381333931;Pen;2026-03-10 12:05:00;0,99;EUR;1;Attic
alpha.example;A-2;4006381333932;Pencil;2026-03-10 12:00:00;0,80;EUR;1;Alpha
gamma.example;G-1;;Brush;2026-03-10 12:00:00;450;JPY;1;Gamma
alpha.example;A-1;4006381333931;Pen;2026-03-11 12:00:00;;EUR;0;Alpha
alpha.example;A-1;4006381333931;Pen;yesterday;1,20;EUR;1;Alpha
delta.example;D-1;;Rubber;2026-03-10 12:00:00;1,20;EUR;1;Delta
gamma.example;G-1;;Brush;2026-03-10 13:00:00;450,5;JPY;1;Gamma
alpha.example;A-1;4006381333931;Pen;2026-03-10 12:00:00;1,20;EUR;1;Alpha
`

// importGuesses: without a mapping, the first rows are shown as interpreted,
// with the assumptions made, and the mapping is written; nothing is published
// without consent.
func importGuesses(t *testing.T, u *upProcess) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "preise.csv"), []byte("Shop;Artikel;Preis;Datum\nladen.de;Stift;1,20 €;01.10.2026 09:00\nladen.de;Heft;0,99 €;01.10.2026 09:00\n"), 0o600))
	run := func(args ...string) (string, string, int) {
		t.Helper()
		cmd := command(t, []string{"PREISMON_PASSWORD=correct horse battery staple"}, append([]string{"import"}, args...)...)
		cmd.Dir = dir
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Fatal(err)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	published := []string{"preise.csv", "--mandate", "Guessed", "--login", "guessed", "--data-dir", u.DataDir}
	out, errs, code := run(published...)
	says(t, out, errs, code, exitUsage, "laden.de", "Stift", "1.20 EUR", "2026-10-01T07:00:00Z", "Europe/Berlin", "written to preise.yaml", "--yes")
	equals.Is(t, 0, number(t, u.tables(), "SELECT count() FROM mandates WHERE name = 'Guessed'"), "published without anybody's consent mandates")
	out, errs, code = run(append(published, "--yes")...)
	says(t, out, errs, code, 0, "preise.yaml already exists")
	equals.Is(t, 2, number(t, u.tables(), "SELECT count() FROM observations WHERE site = 'laden.de'"), "observations, of 2 rows")
	out, errs, code = run("--example-map")
	if code != 0 || !strings.Contains(out, "source: example") || errs != "" {
		t.Errorf("--example-map: exit code %d: %s%s", code, out, errs)
	}
	out, errs, code = run()
	says(t, out, errs, code, exitUsage, "file: missing", "--mandate", "--login")
}

// TestImport: any CSV becomes a working service, whose orders, sites and
// accounts are changed by commands.
func TestImport(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	db := u.tables()
	dir := t.TempDir()
	mapping := file(t, "shops.yaml", strings.TrimSpace(shopMap)+"\ncsv: {delimiter: \";\"}\n")
	rejects := filepath.Join(dir, "rejects.ndjson")
	args := []string{"import", file(t, "shops.csv", shopCSV), "--map", mapping, "--mandate", "Our shop", "--login", "me", "--rejects", rejects}
	const password = "--password=correct horse battery staple"
	count := func() uint64 { return number(t, db, "SELECT count() FROM observations") }

	// Without a terminal, the password cannot be requested.
	out, errs, code := inProcess(t, append(args, "--data-dir", u.DataDir)...)
	says(t, out, errs, code, exitFailed, "PREISMON_PASSWORD", "terminal")
	sentence(t, errs)

	// Checked only.
	out, errs, code = inProcess(t, append(args, "--dry-run")...)
	if code != exitRejected || !strings.Contains(out, "4") {
		t.Errorf("--dry-run: exit code %d: %s%s", code, out, errs)
	}
	equals.Is(t, 0, count()+number(t, db, "SELECT count() FROM mandates"), "--dry-run published records")
	rejected(t, rejects, 9, 10, 11, 12)

	for _, what := range []string{"once", "twice"} {
		must.Do(t, os.Remove(rejects))
		out, errs, code = inProcess(t, append(args, "--data-dir", u.DataDir, password)...)
		if code != exitRejected || !strings.Contains(errs, rejects) {
			t.Errorf("%s: exit code %d: %s%s", what, code, out, errs)
		}
		rejected(t, rejects, 9, 10, 11, 12)
		settle(t, db)
		equals.Is(t, 7, count(), "%s rows", what)
		noDoubles(t, db)
		// Three products, one of them at two sites.
		equals.Is(t, 3, number(t, db, "SELECT count() FROM items FINAL"), "%s items", what)
	}
	t.Logf("the summary:\n%s", out)
	if !strings.Contains(out, "7 accepted rows imported before") || !strings.Contains(errs, "preismon login --url "+u.URL+" --login me, then preismon results --site alpha.example --from 2026-03-11") {
		t.Errorf("the second time: %s%s", out, errs)
	}
	grown(t, u, args, password)

	c := u.client()
	c.t = t
	c = c.login("me", "correct horse battery staple")
	if got := listAll(t, c, "/v1/sites", "site"); !slices.Equal(got, []string{"alpha.example", "beta.example", "gamma.example"}) {
		t.Errorf("sites %v", got)
	}
	status, body := c.get("/v1/results", url.Values{"ean": {"4006381333931"}, "capturedFrom": {"2026-03-10T00:00:00+01:00"}, "capturedTo": {"2026-03-12T00:00:00+01:00"}, "sort": {"asc"}})
	var page struct{ Data []row }
	if err := json.Unmarshal(body, &page); status != http.StatusOK || err != nil {
		t.Fatalf("%d %s %v", status, body, err)
	}
	var got []string
	items := map[contracts.ItemID]bool{}
	for _, r := range page.Data {
		items[r.ItemID] = true
		got = append(got, fmt.Sprintf("%s %s %s %s %s", r.CapturedAt.UTC().Format(time.RFC3339), r.Site, r.Merchant, r.Price, r.Availability))
	}
	slices.Sort(got)
	want := []string{
		"2026-03-10T11:00:00Z alpha.example Alpha 1.20 AVAILABLE",
		"2026-03-10T11:05:00Z beta.example Attic 0.99 AVAILABLE",
		"2026-03-10T11:05:00Z beta.example Corner 1.15 AVAILABLE",
		"2026-03-10T11:05:00Z beta.example Kiosk 1.10 AVAILABLE",
		"2026-03-11T11:00:00Z alpha.example Alpha  UNAVAILABLE",
	}
	if !slices.Equal(got, want) || len(items) != 1 {
		t.Errorf("rows of the EAN, of %d items:\n%s\nwant\n%s", len(items), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// The wrong EAN is not treated as an EAN, but its product is there.
	for _, ean := range []string{"4006381333932"} {
		if status, body := c.get("/v1/items", url.Values{"ean": {ean}}); status == http.StatusOK && !strings.Contains(string(body), `"data":[]`) {
			t.Errorf("an item with the EAN %s of a wrong check digit: %s", ean, body)
		}
	}
	// Another password changes nothing, nor does a login of another mandate; a
	// short password creates no account. Each is refused before anything is
	// published.
	published := func() uint64 {
		return number(t, db, "SELECT max(version) FROM mandates") + number(t, db, "SELECT max(version) FROM accounts")
	}
	before := published()
	elsewhere := append(slices.Clone(args), "--data-dir", u.DataDir)
	elsewhere[slices.Index(elsewhere, "Our shop")] = "Their shop"
	another := append(slices.Clone(elsewhere), "--login", "them")
	for _, c := range []struct {
		password, says string
		args           []string
	}{
		{"something quite different", "another password", append(slices.Clone(args), "--data-dir", u.DataDir)},
		{"correct horse battery staple", "belongs to account", elsewhere},
		{"x", "at least 12 characters", another},
	} {
		out, errs, code = preismon(t, []string{"PREISMON_PASSWORD=" + c.password}, c.args...)
		says(t, out, errs, code, exitFailed, c.says)
		sentence(t, errs)
	}
	settle(t, db)
	if n := published(); n != before {
		t.Error("a refused import published something")
	}
	u.client().login("me", "correct horse battery staple")
	if out, errs, code = inProcess(t, append(args, "--data-dir", u.DataDir)...); code != exitRejected || strings.Contains(errs, "any more") {
		t.Errorf("without a password for an account that is there: exit code %d: %s%s", code, out, errs)
	}

	// The password is changed by its own command.
	out, errs, code = preismon(t, []string{"PREISMON_PASSWORD=too short"}, "accounts", "set-password", "me", "--data-dir", u.DataDir)
	says(t, out, errs, code, exitFailed, "at least 12 characters")
	out, errs, code = preismon(t, []string{"PREISMON_PASSWORD=something quite different"}, "accounts", "set-password", "nobody", "--data-dir", u.DataDir)
	says(t, out, errs, code, exitFailed, "no account with the login")
	out, errs, code = preismon(t, []string{"PREISMON_PASSWORD=something quite different"}, "accounts", "set-password", "Me", "--yes", "--data-dir", u.DataDir)
	if code != 0 || !strings.Contains(out, "account me of mandate") || !strings.Contains(out, "another password; event ") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	u.client().login("me", "something quite different")
	if out, errs, code = inProcess(t, "accounts", "list", "--data-dir", u.DataDir); code != 0 || !strings.Contains(out, "active") || strings.Count(out, "\n") != 3 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}

	t.Run("catalogue", func(t *testing.T) { changeCatalogue(t, u, "something quite different") })
	t.Run("accounts", func(t *testing.T) { changeAccounts(t, u, append(slices.Clone(args), "--data-dir", u.DataDir)) })

	// What the stream no longer has is unknown, and the command reports that.
	js := u.bus(t).js
	stream := must.Get(js.Stream(t.Context(), event.StreamObservations))(t)
	keep := stream.CachedInfo().Config
	keep.MaxMsgs, keep.Discard = 1, jetstream.DiscardOld
	must.Get(js.UpdateStream(t.Context(), keep))(t)
	out, errs, code = inProcess(t, append(args, "--data-dir", u.DataDir)...)
	says(t, out, errs, code, exitRejected, "The stream OBSERVATIONS has what was published since 20", "--keep-observations")
}

// grown: importing the file again with an additional row at its beginning adds
// that row, and a row that contradicts an earlier one is refused; the rejected
// rows of both runs stay.
func grown(t *testing.T, u *upProcess, args []string, password string) {
	t.Helper()
	header, rows, _ := strings.Cut(shopCSV, "\n")
	dir := t.TempDir()
	args = append(slices.Clone(args), "--data-dir", u.DataDir, "--rejects", filepath.Join(dir, "r.ndjson"))
	args[1] = file(t, "shops.csv", header+"\ngamma.example;G-1;;Brush;2026-03-10 09:00:00;460;JPY;1;Gamma\n"+rows)
	out, errs, code := inProcess(t, append(slices.Clone(args), password)...)
	if code != exitRejected || !strings.Contains(out, "8 accepted") {
		t.Errorf("a row more: exit code %d: %s%s", code, out, errs)
	}
	args[1] = file(t, "shops.csv", header+"\ngamma.example;G-1;;Brush;2026-03-10 09:00:00;470;JPY;1;Gamma\n")
	out, errs, code = inProcess(t, append(slices.Clone(args), password)...)
	says(t, out, errs, code, exitRejected, "r-2.ndjson")
	if !strings.Contains(out, "imported otherwise (line 2)") || !strings.Contains(errs, "What was imported is never changed: ") {
		t.Errorf("a contradiction: %s%s", out, errs)
	}
	rejected(t, filepath.Join(dir, "r.ndjson"), 10, 11, 12, 13)
	rejected(t, filepath.Join(dir, "r-2.ndjson"), 2)
	args[1] = file(t, "shops.csv", header+"\n")
	out, errs, code = inProcess(t, append(slices.Clone(args), password)...)
	says(t, out, errs, code, exitFailed, "has a header and no rows")
	if out != "" {
		t.Errorf("of nothing: %s", out)
	}
	db := u.tables()
	settle(t, db)
	equals.Is(t, 8, number(t, db, "SELECT count() FROM observations"), "rows")
	noDoubles(t, db)

	// A product that a later day's file no longer lists stays visible.
	const visible = "SELECT count() FROM observations_by_mandate"
	before := number(t, db, visible)
	first, _, _ := strings.Cut(rows, "\n")
	args[1] = file(t, "shops.csv", header+"\n"+first+"\n")
	out, errs, code = inProcess(t, append(slices.Clone(args), password)...)
	if code != 0 || !strings.Contains(out, "1 product of earlier imports, in view") {
		t.Errorf("a row less: exit code %d: %s%s", code, out, errs)
	}
	settle(t, db)
	equals.Is(t, before, number(t, db, visible), "rows in view before")

	// Another customer's file does not rename a product that both see.
	const named = "SELECT countIf(name = 'Pen') FROM items FINAL WHERE ean = '4006381333931'"
	if n := number(t, db, named); n != 1 {
		t.Fatalf("%d products of the name", n)
	}
	args[1] = file(t, "theirs.csv", header+"\nbeta.example;B-7;4006381333931;Renamed;2026-03-12 09:00:00;1,30;EUR;1;Kiosk\n")
	out, errs, code = inProcess(t, append(slices.Clone(args), "--mandate", "Other", "--login", "other", password)...)
	if code != 0 || !strings.Contains(out, "1 product that other customers see, too") {
		t.Errorf("of another customer: exit code %d: %s%s", code, out, errs)
	}
	settle(t, db)
	if n := number(t, db, named); n != 1 {
		t.Error("another customer's import renamed a product")
	}
}

// rejected checks the lines that a file of rejected rows names.
func rejected(t *testing.T, name string, lines ...int) {
	t.Helper()
	text := must.Get(os.ReadFile(name))(t)
	var got []int
	for line := range strings.Lines(string(text)) {
		var r struct {
			Line   int    `json:"line"`
			Reason string `json:"reason"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Reason == "" {
			t.Errorf("rejected: %s %v", line, err)
		}
		got = append(got, r.Line)
	}
	slices.Sort(got)
	if !slices.Equal(got, lines) {
		t.Errorf("rejected lines %v, want %v:\n%s", got, lines, text)
	}
}

// importInterrupted: an import that was interrupted, however that happened, is
// finished by the next one.
func importInterrupted(t *testing.T, u *upProcess) {
	effort.Full(t, "interruptions of import")
	db := u.tables()
	const items, captures = 300, 400
	var text strings.Builder
	text.WriteString("shop;sku;ean;name;seen;price;currency;stock;seller\n")
	for i := range items * captures {
		fmt.Fprintf(&text, "alpha.example;A-%d;;Item;%s;%d,10;EUR;1;Alpha\n", i%items, time.Date(2026, 3, 1, i/items, 0, 0, 0, time.UTC).Format(time.DateTime), 1+i%97)
	}
	args := []string{
		"import", file(t, "large.csv", text.String()), "--map", file(t, "shops.yaml", strings.TrimSpace(shopMap)+"\ncsv: {delimiter: \";\"}\n"),
		"--mandate", "Our shop", "--login", "me", "--rejects", filepath.Join(t.TempDir(), "rejects"), "--data-dir", u.DataDir,
	}
	password := []string{"PREISMON_PASSWORD=correct horse battery staple"}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 3))
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL, syscall.SIGINT} {
		cmd := command(t, password, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		must.Do(t, cmd.Start())
		wait := time.Duration(30+rnd.IntN(970)) * time.Millisecond // an import takes a second or two, and opens its streams first
		time.Sleep(wait)
		_ = cmd.Process.Signal(signal)
		if err := cmd.Wait(); err == nil {
			t.Logf("%v after %v came too late", signal, wait)
			continue
		}
		if code := cmd.ProcessState.ExitCode(); signal == syscall.SIGINT && code >= 0 && // -1: it did not handle signals yet
			(code != exitFailed || !strings.Contains(stderr.String(), "run it again") && !strings.Contains(stderr.String(), "everything is published")) {
			t.Errorf("%v after %v: exit code %d: %s", signal, wait, code, stderr.String())
		}
	}
	out, errs, code := preismon(t, password, args...)
	if code != 0 {
		t.Errorf("the last run: exit code %d: %s%s", code, out, errs)
	}
	t.Log(strings.TrimSpace(message(errs)))
	settle(t, db)
	equals.Is(t, items*captures, number(t, db, "SELECT count() FROM observations WHERE site = 'alpha.example'"), "rows")
	noDoubles(t, db)
}

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/must"
	"preismon/query/frame"
	"preismon/query/table/tabletest"
)

// answered returns the rows of an answer as texts, in order: what the page, a
// command and an agent must agree on.
func answered(t *testing.T, rows []json.RawMessage) (all []string) {
	t.Helper()
	for _, text := range rows {
		var r explorerRow
		if err := json.Unmarshal(text, &r); err != nil || r.ItemID == "" {
			t.Fatalf("a row: %.200s %v", text, err)
		}
		all = append(all, r.text())
	}
	slices.Sort(all)
	return all
}

func (r explorerRow) text() string {
	return fmt.Sprint(r.ItemID, " ", r.Site, " ", r.CapturedAt, " ", r.Availability, " ", deref(r.Merchant), " ", deref(r.Price), " ", deref(r.CurrencyCode))
}

func deref[T any](p *T) any {
	if p == nil {
		return "null"
	}
	return *p
}

// resultsOf returns the rows of results in the output of several commands: each
// writes rows as NDJSON, or a page, or something else, which is skipped.
func resultsOf(t *testing.T, out string) (rows []json.RawMessage) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(out))
	for d.More() {
		var one json.RawMessage
		if err := d.Decode(&one); err != nil {
			t.Fatalf("%v: %.300s", err, out)
		}
		var what struct {
			CapturedAt string
			Data       []json.RawMessage
		}
		must.Do(t, json.Unmarshal(one, &what))
		if what.CapturedAt != "" {
			rows = append(rows, one)
		}
		for _, r := range what.Data {
			var row explorerRow
			if err := json.Unmarshal(r, &row); err != nil {
				t.Fatalf("%v: %.300s", err, r)
			}
			if row.ItemID != "" && row.CapturedAt != "" {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// compareCommands runs what the page offers for copying: the curl command, the
// client's and the call of the tool return the same rows. The newest rows may
// be followed by others in between: then those of a pair are newer.
func (s explorerSaid) compareCommands(t *testing.T, d *demoTest, token string) {
	t.Helper()
	p, agent := d.person(t, "PREISMON_TOKEN="+token), d.agent(t, "anna")
	for _, view := range []string{"history", "latest", "stream"} {
		ask := func() (curl, cli, mcp []string) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", s.Curl[view])
			cmd.Env = append(cmd.Environ(), "PREISMON_TOKEN="+token)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s\n%.300s", view, err, s.Curl[view], out)
			}
			var told strings.Builder
			for command := range strings.Lines(s.CLI[view]) {
				args := strings.Fields(command)
				out, _ := p.run(0, args[1:]...)
				if args[1] == "stream" || args[1] == "results" {
					told.WriteString(out)
				} else if !strings.HasPrefix(out, "{") {
					t.Errorf("%s: %s: %.300s", view, command, out)
				}
			}
			return answered(t, resultsOf(t, string(out))), answered(t, resultsOf(t, told.String())), answered(t, callAll(t, agent, s.MCP[view]))
		}
		curl, cli, mcp := ask()
		for try := 0; try < 5 && (!slices.Equal(curl, cli) || !slices.Equal(ofItem(curl, s.MCP[view]), mcp)); try++ { // the market went on in between
			curl, cli, mcp = ask()
		}
		if diff := gocmp.Diff(curl, cli); diff != "" || len(curl) == 0 {
			t.Errorf("%s: %d rows (-curl +client): %.2000s", view, len(curl), diff)
		}
		if diff := gocmp.Diff(ofItem(curl, s.MCP[view]), mcp); diff != "" || len(mcp) == 0 {
			t.Errorf("%s: %d rows (-curl +tool): %.2000s", view, len(mcp), diff)
		}
		if view == "history" && len(curl) != s.Chart.Rows {
			t.Errorf("the commands of the history give %d rows, the chart holds %d", len(curl), s.Chart.Rows)
		}
		t.Logf("same=%s curl=%d cli=%d mcp=%d", view, len(curl), len(cli), len(mcp))
	}
}

// callAll calls a tool until its last page, as an agent does.
func callAll(t *testing.T, of *agent, text string) (rows []json.RawMessage) {
	t.Helper()
	var call struct {
		Method string
		Params struct {
			Name      string
			Arguments map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &call); err != nil || call.Method != "tools/call" || call.Params.Name != "list_results" {
		t.Fatalf("MCP call %s: %v", text, err)
	}
	for {
		answer, err := of.call(call.Params.Name, call.Params.Arguments)
		var page struct {
			Data   []json.RawMessage
			Paging struct{ NextCursor string }
		}
		if err != nil || answer.failed || json.Unmarshal(answer.body, &page) != nil {
			t.Fatalf("%s: %v %.300s", text, err, answer.body)
		}
		rows = append(rows, page.Data...)
		if page.Paging.NextCursor == "" {
			return rows
		}
		call.Params.Arguments["cursor"] = page.Paging.NextCursor
	}
}

// ofItem returns the texts of rows that are of the item that a call names, or
// all if it names none.
func ofItem(all []string, call string) []string {
	var named struct {
		Params struct {
			Arguments struct{ ItemID string }
		}
	}
	if json.Unmarshal([]byte(call), &named) != nil || named.Params.Arguments.ItemID == "" {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(text string) bool { return !strings.HasPrefix(text, named.Params.Arguments.ItemID+" ") })
}

// compareFiles compares the files of a history with the rows of the API, and
// checks that the other files are what their names say.
func (s explorerSaid) compareFiles(t *testing.T, rows []explorerRow) {
	t.Helper()
	var want, got []string
	for _, r := range rows {
		want = append(want, fmt.Sprint(r.ItemID, " ", r.Site, " ", r.CapturedAt, " ", deref(r.Merchant)))
	}
	for view, files := range s.Files {
		csv := 0
		for _, f := range files {
			if strings.HasSuffix(f.Name, ".parquet") {
				if f.Text != "PAR1 PAR1" {
					t.Errorf("%s is no Parquet: %q", f.Name, f.Text)
				}
				continue
			}
			csv++
			records := f.records(t)
			markets := strings.HasPrefix(f.Name, "markets-") // of the products of the history
			if len(records) == 0 || !strings.HasPrefix(f.Name, view) && !(markets && view == "history") {
				t.Errorf("%s has %d records", f.Name, len(records))
			}
			if view != "history" || markets {
				continue
			}
			for _, r := range records {
				merchant := r["merchant"]
				if merchant == "" {
					merchant = "null"
				}
				at := must.Get(time.Parse(time.RFC3339, r["capturedAt"]))(t) // in the zone of the page
				got = append(got, fmt.Sprint(r["itemId"], " ", r["site"], " ", at.UTC().Format("2006-01-02T15:04:05.000Z"), " ", merchant))
			}
		}
		if csv == 0 || len(files) != 2*csv {
			t.Errorf("%s: %d files, %d of them CSV", view, len(files), csv)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := gocmp.Diff(want, got); diff != "" || len(s.Files) != 3 {
		t.Errorf("files of %d views, that of the history (-API +file): %.2000s", len(s.Files), diff)
	}
}

// compareTables checks that the files built by the page from what it shows, CSV
// and Parquet, have these names and the same content.
func compareTables(t *testing.T, tables [][]savedFile, names ...string) {
	t.Helper()
	if len(tables) != len(names) {
		t.Fatalf("%d files for %v", len(tables), names)
	}
	for i, forms := range tables {
		if len(forms) != 2 || forms[0].Name != names[i]+".csv" || forms[1].Name != names[i]+".parquet" {
			t.Errorf("%s: want it as CSV and as Parquet, got %d files: %.40q", names[i], len(forms), forms)
			continue
		}
		text, _ := strings.CutSuffix(forms[0].Text, "\r\n")
		head, _, _ := strings.Cut(text, "\r\n")
		var columns []frame.Column
		for name := range strings.SplitSeq(head, ",") {
			c := frame.Column{Name: name, Kind: frame.Text, Nullable: true}
			if strings.HasSuffix(name, "At") || strings.HasSuffix(name, "Since") {
				c.Kind = frame.Instant
			}
			columns = append(columns, c)
		}
		var file []byte // received as Latin-1
		for _, r := range forms[1].Text {
			file = append(file, byte(r))
		}
		read, err := tabletest.Unstated(file, columns, time.UTC)
		if err != nil {
			t.Errorf("%s: %v", forms[1].Name, err)
			continue
		}
		var want, got []string
		for _, r := range forms[0].records(t) {
			line := ""
			for _, c := range columns {
				cell := r[c.Name]
				if at, err := time.Parse(time.RFC3339Nano, cell); err == nil && c.Kind == frame.Instant {
					cell = at.UTC().Format("2006-01-02T15:04:05.000Z")
				}
				line += cell + "|"
			}
			want = append(want, line)
		}
		for _, r := range read {
			line := ""
			for _, c := range columns {
				switch v := r[c.Name].(type) {
				case nil:
				case float64:
					line += strconv.FormatFloat(v, 'f', -1, 64)
				default:
					line += fmt.Sprint(v)
				}
				line += "|"
			}
			got = append(got, line)
		}
		if diff := gocmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s, %d lines (-CSV +Parquet): %.2000s", names[i], len(want), diff)
		}
		t.Logf("file=%s lines=%d columns=%d", names[i], len(want), len(columns))
	}
}

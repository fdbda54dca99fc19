package mcp_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// export returns a CSV file with the given number of rows after its header.
func export(rows int) (content string, lines []string) {
	lines = []string{"itemId;site;price;title"}
	for i := range rows {
		lines = append(lines, fmt.Sprintf("%d;shop-one;%d,99;Käse \"No. %d\"", i+1, i%500, i+1))
	}
	return "\ufeff" + strings.Join(lines, "\r\n") + "\r\n", lines
}

func texts(all []any) (out []string) {
	for _, one := range all {
		out = append(out, one.(string))
	}
	return out
}

// A large file comes as a preview that costs an agent little, and its lines
// come by ranges, through an argument and through the link.
func TestALargeFileIsPreviewed(t *testing.T) {
	a, count := newAgents(t, newMarket()), tokens(t)
	content, lines := export(9_300)
	for d, tool := range downloadTools {
		e := a.put(d, 5, "Täglich / groß.csv", "groß.csv", []byte(content))
		agent := a.agent(whole)
		r := agent.call(tool, object{"orderId": 5})
		got := r.ok()
		if n := count(string(r.Structured)); len(content) < 354_000 || n > 800 {
			t.Errorf("%s: %d tokens for a file of %d bytes", tool, n, len(content))
		}
		if got["text"] != nil || got["data"] != nil || got["encoding"] != nil || got["sizeBytes"] != float64(len(content)) || got["sha256"] != e.SHA256 {
			t.Errorf("%s: %.300s", tool, r.Structured)
		}
		if at(got, "completeness", "complete") != false || at(got, "completeness", "reason") != "EXCERPT" {
			t.Errorf("completeness %v", got["completeness"])
		}
		if x := at(got, "excerpt"); at(x, "rows") != 9_300.0 || at(x, "header") != lines[0] || at(x, "from") != 2.0 || at(x, "to") != 11.0 {
			t.Errorf("excerpt %v", x)
		}
		equals.Check(t, lines[1:11], texts(list(got, "excerpt", "lines")))
		var next object
		must.Do(t, json.Unmarshal([]byte(agent.read(got["link"].(string))), &next))
		if diff := cmp.Diff(lines[11:111], texts(list(next, "lines"))); diff != "" || next["from"] != 12.0 || next["to"] != 111.0 {
			t.Errorf("the link: %v to %v: %s", next["from"], next["to"], diff)
		}
		// Ranges that each continue where the previous one ended are the whole
		// file.
		read := []string{}
		for from := 2; from <= len(lines); {
			x := at(agent.call(tool, object{"orderId": 5, "lines": fmt.Sprintf("%d-%d", from, from+4_999)}).ok(), "excerpt")
			if at(x, "from") != float64(from) || len(list(x, "lines")) == 0 {
				t.Fatalf("from %d: %.200v", from, x)
			}
			read = append(read, texts(list(x, "lines"))...)
			from = int(at(x, "to").(float64)) + 1
		}
		equals.Checkf(t, lines[1:], read, "all ranges")
		if got := agent.call(tool, object{"orderId": 5, "whole": true}).ok(); got["text"] != content || at(got, "completeness", "complete") != true {
			t.Errorf("whole: %.100v", got["text"])
		}
		last := agent.call(tool, object{"orderId": 5, "lines": "9301-9999"}).ok()
		equals.Check(t, lines[9_300:], texts(list(last, "excerpt", "lines")))
		for _, wrong := range []string{"0-5", "5-4", "5", "a-b", "1-9999999999"} {
			agent.call(tool, object{"orderId": 5, "lines": wrong}).failed("MVP_VALIDATION_ERROR")
		}
		agent.call(tool, object{"orderId": 5, "lines": "1-2", "whole": true}).failed("MVP_VALIDATION_ERROR")
	}
}

// The link continues after the last line shown, even if the excerpt ends early,
// and is left out where there is nothing to continue with.
func TestTheLinkContinuesTheExcerpt(t *testing.T) {
	a := newAgents(t, newMarket())
	agent := a.agent(whole)
	rows, _ := export(9_300)
	wide := "title\n" + strings.Repeat(strings.Repeat("x", 1_500)+"\n", 50)
	for i, c := range []struct {
		content, lines string
		linked         bool
	}{
		{wide, "", true},
		{rows, "2-5001", true},
		{rows, "2-999999999", true},
		{rows, "9301-9999", false},
		{rows, "9302-9999", false},
		{rows, "1-1", false},
		{"title\n", "1-9", false},
	} {
		name := fmt.Sprint(i)
		a.put(query.Exports, 5, name, "main.csv", []byte(c.content))
		arguments := object{"orderId": 5, "name": name}
		if c.lines != "" {
			arguments["lines"] = c.lines
		}
		got := agent.call("download_order_export_file", arguments).ok()
		link, linked := got["link"].(string)
		if linked != c.linked {
			t.Errorf("%s: link %q", c.lines, link)
		}
		if !linked {
			continue
		}
		var next object
		must.Do(t, json.Unmarshal([]byte(agent.read(link)), &next))
		if next["from"] != at(got, "excerpt", "to").(float64)+1 {
			t.Errorf("%s: the excerpt ends at %v, the link begins at %v", c.lines, at(got, "excerpt", "to"), next["from"])
		}
	}
}

// A small file whose lines are requested is reported as complete when all are
// there.
func TestTheLinesOfASmallFile(t *testing.T) {
	a := newAgents(t, newMarket())
	long := strings.Repeat("ü", 2_500)
	for name, c := range map[string]struct {
		content  string
		rows     any
		lines    []string
		complete bool
	}{
		"plain.csv": {"a\nb\n\nc", 3.0, []string{"b", "", "c"}, true},
		"empty.csv": {"", 0.0, nil, true},
		"head.csv":  {"a;b\n", 0.0, nil, true},
		"long.csv":  {"a\n" + long + "\nc", 2.0, []string{long[:2*1_999] + "…", "c"}, false},
		"wide.csv":  {"a\n" + strings.Repeat("x", 100_000) + "\nc", 2.0, []string{strings.Repeat("x", 1_999) + "…", "c"}, false},
		"runs.csv":  {"a\nx" + strings.Repeat("ü", 9_000) + "\nc", 2.0, []string{"x" + strings.Repeat("ü", 1_998) + "…", "c"}, false},
		"late.csv":  {"a\n" + strings.Repeat("ü", 9_000) + "\xe4\n", nil, nil, false},
		"torn.csv":  {"a\n" + strings.Repeat("ü", 9_000) + "\xc3", nil, nil, false},
		"latin.csv": {"a\nK\xe4se\n", nil, nil, false},
	} {
		a.put(query.Exports, 5, name, name, []byte(c.content))
		got := a.agent(whole).call("download_order_export_file", object{"orderId": 5, "name": name, "lines": "1-100"}).ok()
		if diff := cmp.Diff(c.lines, texts(list(got, "excerpt", "lines"))); diff != "" || at(got, "excerpt", "rows") != c.rows || at(got, "completeness", "complete") != c.complete {
			t.Errorf("%s: rows %v, %v: %s", name, at(got, "excerpt", "rows"), got["completeness"], diff)
		}
	}
}

// pack builds a ZIP file of parts, each a name and a text.
func pack(t *testing.T, parts ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, p := range parts {
		w := must.Get(z.Create(p[0]))(t)
		must.Get(w.Write([]byte(p[1])))(t)
	}
	must.Do(t, z.Close())
	return b.Bytes()
}

// A workbook shows its first sheet, and a ZIP file its contents.
func TestThePreviewOfSheetsAndPacks(t *testing.T) {
	a := newAgents(t, newMarket())

	for name, c := range map[string]struct {
		content []byte
		header  string
		lines   []string
	}{
		"sheet.xlsx": {
			pack(t, [2]string{"xl/sharedStrings.xml", `<sst><si><t>EAN</t></si><si><r><t>Pr</t></r><r><t>eis</t></r></si></sst>`},
				[2]string{"xl/worksheets/sheet1.xml", `<worksheet><sheetData><row><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>` +
					`<row><c r="A2" t="inlineStr"><is><t>a,b` + "\n" + `c</t></is></c><c r="C2"><v>9.99</v></c></row><row><c><v>1</v></c><c t="s"><v>77</v></c></row></sheetData></worksheet>`}),
			"EAN,,Preis",
			[]string{`"a,b c",,9.99`, "1,"},
		},
		"pack.zip":    {pack(t, [2]string{"one.csv", "a"}, [2]string{"two,three.csv", "abc"}), "name,sizeBytes", []string{"one.csv,1", `"two,three.csv",3`}},
		"liar.zip":    {[]byte("a\nb\n"), "a", []string{"b"}},
		"broken.xlsx": {pack(t, [2]string{"xl/worksheets/sheet1.xml", "<worksheet><row><c>"}), "", nil},
	} {
		a.put(query.Exports, 5, name, name, c.content)
		got := a.agent(whole).call("download_order_export_file", object{"orderId": 5, "name": name, "lines": "1-100"}).ok()
		if diff := cmp.Diff(c.lines, texts(list(got, "excerpt", "lines"))); diff != "" || at(got, "excerpt", "header") != c.header {
			t.Errorf("%s: header %v: %s", name, at(got, "excerpt", "header"), diff)
		}
	}
}

// A small workbook that unpacks to very much has no preview, and costs little.
func TestThePreviewOfAnInflatedSheet(t *testing.T) {
	a := newAgents(t, newMarket())
	agent := a.agent(whole)
	const sheet, shared = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
	row := [2]string{sheet, "<worksheet><row><c><v>1</v></c></row></worksheet>"}
	books := []struct {
		name, part, begin, repeated string
		times                       int
		end                         string
	}{
		{"cells.xlsx", sheet, "<worksheet><row>", "<c/>", 8_300_000, "</row></worksheet>"},
		{"right.xlsx", sheet, "<worksheet>", `<row><c r="XFD1"/></row>`, 1_000_000, "</worksheet>"},
		{"texts.xlsx", shared, "<sst>", "<si/>", 6_700_000, "</sst>"},
		{"depth.xlsx", sheet, "", "<a>", 10_000_000, ""},
		{"marks.xlsx", sheet, "<worksheet><row", ` a=""`, 6_000_000, "/></worksheet>"},
		{"runs.xlsx", shared, "<sst><si>", "<r><t/></r>", 2_500_000, "</si></sst>"},
	}
	for _, book := range books[:effort.Often(3, len(books))] {
		name, parts := book.name, [][2]string{{book.part, book.begin + strings.Repeat(book.repeated, book.times) + book.end}}
		if book.part == shared {
			parts = append(parts, row)
		}
		a.put(query.Exports, 5, name, name, pack(t, parts...))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := agent.call("download_order_export_file", object{"orderId": 5, "name": name, "lines": "1-100"}).ok()
		runtime.ReadMemStats(&after)
		most := uint64(128 << 20)
		if name == "texts.xlsx" {
			most = 600 << 20 // nearly all of it garbage at once
		}
		if spent := after.TotalAlloc - before.TotalAlloc; at(got, "excerpt", "rows") != nil || spent > most {
			t.Errorf("%s: rows %v, %d MiB allocated", name, at(got, "excerpt", "rows"), spent>>20)
		}
	}
	// A long text that is in many cells is not copied for each.
	text := strings.Repeat("x", 1<<19)
	a.put(query.Exports, 5, "wide.xlsx", "wide.xlsx", pack(t, [2]string{shared, "<sst><si><t>" + text + "</t></si></sst>"},
		[2]string{sheet, "<worksheet>" + strings.Repeat("<row>"+strings.Repeat(`<c t="s"><v>0</v></c>`, 500)+"</row>", 2) + "</worksheet>"}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := agent.call("download_order_export_file", object{"orderId": 5, "name": "wide.xlsx", "lines": "1-100"}).ok()
	runtime.ReadMemStats(&after)
	short := text[:1_999] + "…"
	if diff := cmp.Diff([]string{short}, texts(list(got, "excerpt", "lines"))); diff != "" || after.TotalAlloc-before.TotalAlloc > 128<<20 {
		t.Errorf("%d MiB allocated: %s", (after.TotalAlloc-before.TotalAlloc)>>20, diff)
	}
}

// RSRC-02, VIS-04: the link is in no list, and does not lead a caller to a file
// that it may not read.
func TestTheLinkOfAFile(t *testing.T) {
	a := newAgents(t, newMarket())
	content, _ := export(1_000)
	a.put(query.Exports, 5, "main.csv", "main.csv", []byte(content))
	r := a.agent(whole).call("download_order_export_file", object{"orderId": 5})
	link := r.ok()["link"].(string)
	if len(r.Content) != 2 || r.Content[1].Type != "resource_link" || r.Content[1].URI != link {
		t.Errorf("content %.300v", r.Content)
	}
	if r := a.agent(foreigner).send("resources/read", object{"uri": link}).reply(t); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("a foreigner: %+v", r)
	}
	for _, wrong := range []string{
		strings.Replace(link, "exports", "imports", 1), strings.Replace(link, "exports", "files", 1), strings.Replace(link, "orders/5", "orders/8", 1),
		strings.Replace(link, "main", "other", 1), strings.Replace(link, "12-111", "0-1", 1), strings.Replace(link, "12-111", "1", 1), link + "/1",
	} {
		if r := a.agent(whole).send("resources/read", object{"uri": wrong}).reply(t); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%s: %+v", wrong, r)
		}
	}
	// Version 2025-03-26 has no such block.
	old := a.legacy(whole).post(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": "download_order_export_file", "arguments": object{"orderId": 5}}},
		http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}})
	if strings.Contains(old.body, "resource_link") || !strings.Contains(old.body, link) {
		t.Errorf("%.500s", old.body)
	}
	// An account that sees a part of an order reads no file of it.
	for _, account := range []contracts.AccountID{oneOrder, sitesOnly} {
		tool := a.agent(account).call("download_order_export_file", object{"orderId": 5})
		read := a.agent(account).send("resources/read", object{"uri": link}).reply(t)
		if tool.IsError != (read.Error != nil) {
			t.Errorf("account %d: the tool %s, the link %+v", account, tool.Structured, read)
		}
	}
}

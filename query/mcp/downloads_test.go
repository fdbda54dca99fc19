package mcp_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/mcp"
)

var downloadTools = map[query.Direction]string{query.Exports: "download_order_export_file", query.Imports: "download_order_import_file"}

// content returns the bytes in a download's answer.
func content(t *testing.T, answer object) []byte {
	t.Helper()
	switch answer["encoding"] {
	case "utf-8":
		if answer["data"] != nil {
			t.Error("text and data")
		}
		return []byte(answer["text"].(string))
	case "base64":
		if answer["text"] != nil {
			t.Error("text and data")
		}
		raw := must.Get(base64.StdEncoding.DecodeString(answer["data"].(string)))(t)
		return raw
	}
	t.Fatalf("encoding %v", answer["encoding"])
	return nil
}

// TOOL-05b, ART-04a, ART-04b: the same bytes as over REST, as text if they are
// text.
func TestFilesAreTheBytesOfREST(t *testing.T) {
	a := newAgents(t, newMarket())
	agent := a.agent(whole)
	for d, tool := range downloadTools {
		for _, c := range []struct {
			filename, content, encoding string
		}{
			{"plain.csv", "item;price\n11;9,99 €\n", "utf-8"},
			{"empty.csv", "", "utf-8"},
			{"quotes.csv", "\"a\\b\"\t\r\n\u2028<&>\u202e\u200b\x00\x7f", "utf-8"}, // unchanged by presentable
			{"bom.csv", "\ufeffitem", "utf-8"},
			{"latin.csv", "K\xe4se", "base64"},
			{"sheet.xlsx", "PK\x03\x04\xff\xfe", "base64"},
			{"pack.ZIP", "PK\x03\x04", "utf-8"},
			{"other.bin", "\x80", "base64"},
		} {
			a.put(d, 5, c.filename, c.filename, []byte(c.content))
			arguments := object{"orderId": 5, "name": c.filename}
			got := agent.call(tool, arguments).ok()
			over := agent.get("/v1/orders/5/" + string(d) + "s/history/download?name=" + c.filename)
			if over.status != http.StatusOK || over.body != string(content(t, got)) || over.body != c.content {
				t.Errorf("%s: %q, over REST %d %q", c.filename, content(t, got), over.status, over.body)
			}
			if sum := sha256.Sum256([]byte(c.content)); got["sha256"] != hex.EncodeToString(sum[:]) || at(got, "completeness", "complete") != true {
				t.Errorf("%s: sha256 %v, %v", c.filename, got["sha256"], got["completeness"])
			}
			if got["encoding"] != c.encoding || got["sizeBytes"] != float64(len(c.content)) {
				t.Errorf("%s: encoding %v, sizeBytes %v", c.filename, got["encoding"], got["sizeBytes"])
			}
			if kind := over.header.Get("Content-Type"); got["contentType"] != kind || at(got, "metadata", "contentType") != kind {
				t.Errorf("%s: %v, metadata %v, REST %s", c.filename, got["contentType"], got["metadata"], kind)
			}
			if at(got, "metadata", "filename") != c.filename || (at(got, "metadata", "exportName") == "Daily") != (d == query.Exports) {
				t.Errorf("metadata %v", got["metadata"])
			}
		}
		agent.call(tool, object{"orderId": 5}).failed("MVP_VALIDATION_ERROR") // several match
		if got := agent.call(tool, object{"orderId": 5, "latest": true}).ok(); at(got, "metadata", "name") != "other.bin" {
			t.Errorf("latest: %v", got["metadata"])
		}
	}
}

// An archive that returns more or less than the catalogue says is our fault; one
// that has lost a file is told of.
func TestAFileOfAnotherSize(t *testing.T) {
	a := newAgents(t, newMarket())
	e := a.put(query.Exports, 5, "odd.csv", "odd.csv", []byte("four"))
	for _, content := range []string{"fou", "fours"} {
		a.archive.content[e.Archive] = []byte(content)
		a.agent(whole).call("download_order_export_file", object{"orderId": 5}).failed("INTERNAL_ERROR")
	}
	delete(a.archive.content, e.Archive)
	a.agent(whole).call("download_order_export_file", object{"orderId": 5}).failed("HISTORY_ARTIFACT_CONTENT_MISSING")
}

// TOOL-05a, MCP-16c: one limit on raw sizes for both surfaces.
func TestTheArchiveLimit(t *testing.T) {
	a := newAgents(t, newMarket(), func(s *agentSettings) { s.query.MaxDownloadBytes = 100 })
	agent := a.agent(whole)
	for d, tool := range downloadTools {
		a.put(d, 5, "fits", "fits.bin", bytes.Repeat([]byte{0xff}, 100))
		a.put(d, 5, "over", "over.bin", bytes.Repeat([]byte{0xff}, 101))
		path := "/v1/orders/5/" + string(d) + "s/history/download?name="
		if got := agent.call(tool, object{"orderId": 5, "name": "fits"}).ok(); got["sizeBytes"] != 100.0 || agent.get(path+"fits").status != http.StatusOK {
			t.Error("100 bytes do not fit")
		}
		p := agent.call(tool, object{"orderId": 5, "name": "over"}).failed("PAYLOAD_TOO_LARGE")
		if p.Status != 413 || p.ActualBytes == nil || *p.ActualBytes != 101 || p.MaxBytes == nil || *p.MaxBytes != 100 {
			t.Errorf("%+v", p)
		}
		if over := agent.get(path + "over"); over.status != 413 {
			t.Errorf("REST: %d", over.status)
		}
	}
}

// tinyAnswers limits the whole answer of a POST to 2 MiB.
func tinyAnswers(s *agentSettings) { s.mcp.MaxResponseBytes = 2 << 20 }

// LIM-D1, LIM-D3: the largest file whose Base64 fits twice is read; one byte
// more is refused before anything is read.
func TestTheDownloadBudget(t *testing.T) {
	a := newAgents(t, newMarket(), tinyAnswers)
	agent := a.agent(whole)
	a.put(query.Exports, 5, "huge", "huge.bin", bytes.Repeat([]byte{0xff}, 2<<20))
	p := agent.call("download_order_export_file", object{"orderId": 5, "name": "huge"}).failed("PAYLOAD_TOO_LARGE")
	most := *p.MaxBytes
	if *p.ActualBytes != 2<<20 || most < 700<<10 || mcp.DownloadCost(most) > 2<<20 || a.archive.opened.Load() != 0 {
		t.Errorf("most %d, actual %d, opened %d", most, *p.ActualBytes, a.archive.opened.Load())
	}
	a.put(query.Exports, 5, "fits", "fits.bin", bytes.Repeat([]byte{0xff}, int(most)))
	a.put(query.Exports, 5, "over", "over.bin", bytes.Repeat([]byte{0xff}, int(most)+1))
	if got := agent.call("download_order_export_file", object{"orderId": 5, "name": "fits", "whole": true}).ok(); got["sizeBytes"] != float64(most) {
		t.Errorf("sizeBytes %v", got["sizeBytes"])
	}
	if read := a.archive.read.Load(); read != most {
		t.Errorf("read %d bytes of %d", read, most)
	}
	agent.call("download_order_export_file", object{"orderId": 5, "name": "over"}).failed("PAYLOAD_TOO_LARGE")
	if read := a.archive.read.Load(); read != most {
		t.Errorf("something was read of what does not fit: %d", read-most)
	}
}

// TOOL-05b: text that does not fit when escaped comes as Base64.
func TestTextThatDoesNotFitAsText(t *testing.T) {
	a := newAgents(t, newMarket(), tinyAnswers)
	tame, wild := strings.Repeat("x", 600<<10), strings.Repeat("\x01", 600<<10) // six bytes each when escaped, and seven as text
	a.put(query.Exports, 5, "tame", "tame.csv", []byte(tame))
	a.put(query.Exports, 5, "wild", "wild.csv", []byte(wild))
	for name, want := range map[string]struct{ encoding, content string }{"tame": {"utf-8", tame}, "wild": {"base64", wild}} {
		got := a.agent(whole).call("download_order_export_file", object{"orderId": 5, "name": name, "whole": true}).ok()
		if got["encoding"] != want.encoding || string(content(t, got)) != want.content {
			t.Errorf("%s: %v", name, got["encoding"])
		}
	}
}

// LIM-D3, TOOL-05b: no file is refused at the size at which text becomes
// Base64.
func TestWhereTextBecomesBase64(t *testing.T) {
	a := newAgents(t, newMarket(), tinyAnswers)
	e := a.put(query.Exports, 5, "quotes", "quotes.csv", nil)
	encodingOf := func(n int) any {
		quotes := bytes.Repeat([]byte{'"'}, n)
		sum := sha256.Sum256(quotes)
		a.archive.content[e.Archive] = quotes
		a.market.files[0].SizeBytes, a.market.files[0].SHA256 = int64(n), hex.EncodeToString(sum[:])
		r := a.agent(whole).call("download_order_export_file", object{"orderId": 5, "whole": true})
		if r.IsError {
			t.Errorf("%d bytes: %s", n, r.Structured)
		}
		return r.members()["encoding"]
	}
	text, base64 := 300<<10, 400<<10 // six bytes each when escaped: quotes in a text in a text
	for base64-text > 1 {
		if n := (text + base64) / 2; encodingOf(n) == "utf-8" {
			text = n
		} else {
			base64 = n
		}
	}
	for n := text - 25; n < text+75; n++ {
		if got := encodingOf(n); (n <= text) != (got == "utf-8") {
			t.Errorf("%d bytes: %v, text up to %d", n, got, text)
		}
	}
}

// LIM-D2, LIM-D4: a batch shares one budget; what does not fit into the rest is
// refused with both sizes, and the other responses are intact.
func TestABatchOfDownloads(t *testing.T) {
	a := newAgents(t, newMarket(), tinyAnswers)
	a.put(query.Exports, 5, "one", "one.bin", bytes.Repeat([]byte{0xff}, 500<<10))
	get := func(id int) object {
		return object{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": object{"name": "download_order_export_file", "arguments": object{"orderId": 5, "whole": true}}}
	}
	sites := object{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": object{"name": "list_sites"}}
	answer := a.legacy(whole).post([]any{get(1), get(2), sites}, http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}})
	if answer.status != http.StatusOK || len(answer.body) > 2<<20 {
		t.Fatalf("%d, %d bytes", answer.status, len(answer.body))
	}
	var replies []struct{ Result result }
	must.Do(t, json.Unmarshal([]byte(answer.body), &replies))
	for i := range replies {
		replies[i].Result.t = t
	}
	if got := replies[0].Result.ok(); len(content(t, got)) != 500<<10 {
		t.Error("the first download")
	}
	p := replies[1].Result.failed("PAYLOAD_TOO_LARGE")
	if *p.ActualBytes != 500<<10 || *p.MaxBytes >= 500<<10 || *p.MaxBytes < 200<<10 {
		t.Errorf("the second: %+v %d %d", p, *p.ActualBytes, *p.MaxBytes)
	}
	if len(list(replies[2].Result.ok(), "data")) != 3 {
		t.Error("the third response")
	}
}

// The refusal names the smaller of the two limits.
func TestBothLimitsOfDownloads(t *testing.T) {
	a := newAgents(t, newMarket(), tinyAnswers, func(s *agentSettings) { s.query.MaxDownloadBytes = 1 << 20 })
	a.put(query.Exports, 5, "huge", "huge.bin", bytes.Repeat([]byte{0xff}, 3<<20))
	p := a.agent(whole).call("download_order_export_file", object{"orderId": 5}).failed("PAYLOAD_TOO_LARGE")
	if *p.MaxBytes >= 1<<20 || *p.ActualBytes != 3<<20 {
		t.Errorf("max %d, actual %d", *p.MaxBytes, *p.ActualBytes)
	}
}

package shards_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"preismon/deploy/testserver/process"
)

// shardAway: without one shard there is no answer and no part of one, and a
// stream under way breaks; with it again there is.
func (e *estate) shardAway(t *testing.T) {
	anna := e.client(t, "anna")
	const away = 1
	nodes := e.forms[3].nodes
	page := "/v1/results?limit=1000&" + e.whole()
	_, before := anna.get(nodes[0], page)

	resp, err := anna.send(nodes[0], http.MethodGet, "/v1/results/stream?includeExportFields=true&"+e.whole(), anna.token, nil)
	must(t, err)
	defer resp.Body.Close() //nolint:errcheck // read to its end
	body := bufio.NewReader(resp.Body)
	if _, err := body.ReadString('\n'); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the stream does not begin: %s, %v", resp.Status, err)
	}
	e.servers[away].Kill()
	<-e.servers[away].Done()
	lines := &lineCounter{n: 1}
	if _, err := io.Copy(lines, body); err == nil || complete(resp, lines.n) {
		t.Errorf("a stream of %d lines ends with %v and the trailer %v when a shard ended", lines.n, err, resp.Trailer)
	} else {
		t.Logf("the stream broke after %d lines: %v", lines.n, err)
	}

	for _, node := range nodes {
		for _, path := range []string{page, "/v1/results?latestObservationPerPair=true&limit=10", "/v1/results/stream?" + e.whole(), "/v1/sites"} {
			began := time.Now()
			resp, text := anna.get(node, path)
			var problem struct{ Code string }
			retry, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
			if resp.StatusCode != http.StatusServiceUnavailable || retry < 1 || json.Unmarshal(text, &problem) != nil || problem.Code == "" {
				t.Errorf("%s without a shard: %s, Retry-After %d: %.300s", path, resp.Status, retry, text)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%s without a shard is refused after %v", path, took)
			}
		}
	}

	e.servers[away].Start(t)
	began := time.Now()
	must(t, process.Until(time.Minute, "there are answers again", func() bool {
		resp, _ := anna.get(nodes[0], page)
		return resp.StatusCode == http.StatusOK
	}))
	t.Logf("answers again %v after the shard was there", time.Since(began).Round(time.Millisecond))
	var was, is struct{ Data []json.RawMessage }
	_, after := anna.get(nodes[1], page)
	must(t, json.Unmarshal(before, &was))
	must(t, json.Unmarshal(after, &is))
	if len(was.Data) == 0 || len(was.Data) != len(is.Data) {
		t.Fatalf("%d rows, %d before", len(is.Data), len(was.Data))
	}
	for i := range was.Data {
		if string(was.Data[i]) != string(is.Data[i]) {
			t.Fatalf("row %d is %s, was %s", i, is.Data[i], was.Data[i])
		}
	}
}

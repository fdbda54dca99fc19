package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/must"
)

// valuesOf returns the values that commands or tools reported, each as a text:
// of sites, orders, and the lists of the start page; of one order also its
// detail and its files. Times are in UTC.
func valuesOf(t *testing.T, out, orderID string) (all []string) {
	t.Helper()
	text := func(v any) string {
		b := must.Get(json.Marshal(inUTC(v)))(t) // with the keys in order
		return string(b)
	}
	var fact func(r map[string]any)
	fact = func(r map[string]any) {
		is := func(kind string, values ...any) { all = append(all, kind+text(values)) }
		switch {
		case r["list"] != nil:
			is("list", r["list"], r["count"], r["movers"], r["positions"], r["sites"])
		case r["reasons"] != nil:
			is("site", r)
		case r["filename"] != nil:
			is("file", r["exportName"], r["name"], r["filename"], r["archivedAt"], r["sizeBytes"])
		case r["fileCount"] != nil: // the status of an order repeats what is below, and its files
			files, quality := r["files"].([]any), r["qualitySummary"]
			for _, name := range []string{"fileCount", "files", "qualitySummary"} {
				delete(r, name)
			}
			if fact(r); r["orderId"] != orderID {
				return
			}
			r["qualitySummary"] = quality
			fact(r)
			for _, file := range files {
				fact(file.(map[string]any))
			}
		case r["qualitySummary"] != nil:
			is("detail", r["orderId"], r["qualitySummary"], r["coverage"], r["monitoring"])
		case r["coverage"] != nil:
			is("order", r["orderId"], r["name"], r["health"], r["coverage"], r["monitoring"])
		default:
			t.Fatalf("a record of no kind: %.300s", text(r))
		}
	}
	d := json.NewDecoder(strings.NewReader(out))
	for d.More() {
		var one map[string]any
		if err := d.Decode(&one); err != nil {
			t.Fatalf("%v: %.300s", err, out)
		}
		data, paged := one["data"].([]any)
		if !paged {
			fact(one)
		}
		for _, r := range data {
			fact(r.(map[string]any))
		}
	}
	slices.Sort(all)
	return all
}

// recordsOf returns the records of answers in full, each as a text.
func recordsOf(t *testing.T, out string) (all []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(out))
	for d.More() {
		var one map[string]any
		if err := d.Decode(&one); err != nil {
			t.Fatalf("%v: %.300s", err, out)
		}
		records, answer := one["data"].([]any)
		if !answer && one["capturedAt"] == nil {
			records = []any{one}
		}
		for _, r := range records {
			text := must.Get(json.Marshal(r))(t) // with the keys in order
			all = append(all, string(text))
		}
	}
	slices.Sort(all)
	return all
}

// inUTC converts every time in a JSON value to UTC.
func inUTC(v any) any {
	switch v := v.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return at.UTC()
		}
	case []any:
		for i := range v {
			v[i] = inUTC(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = inUTC(v[name])
		}
	}
	return v
}

// ran returns what a curl command writes.
func ran(t *testing.T, command, token string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Env = append(cmd.Environ(), "PREISMON_TOKEN="+token)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%.300s", err, command, out)
	}
	return string(out)
}

// ranAll returns what commands of the client write, one after the other.
func (p *person) ranAll(commands string) string {
	var out strings.Builder
	for command := range strings.Lines(commands) {
		told, _ := p.run(0, strings.Fields(command)[1:]...)
		out.WriteString(told)
	}
	return out.String()
}

// sent is a request to the MCP endpoint that the page offers for copying.
type sent struct {
	Method string
	Params struct {
		Name      string
		Arguments map[string]any
		URI       string
	}
}

// called sends requests, one after the other, and returns what the tools answer
// and what the resources have.
func (a *agent) called(requests string) string {
	a.t.Helper()
	var out strings.Builder
	d := json.NewDecoder(strings.NewReader(requests))
	for d.More() {
		var body json.RawMessage
		var request sent
		if err := d.Decode(&body); err != nil || json.Unmarshal(body, &request) != nil {
			a.t.Fatalf("%s: %v", requests, err)
		}
		if request.Method == "resources/read" {
			var r struct{ Contents []struct{ URI, Text string } }
			if err := a.post(body, &r); err != nil || len(r.Contents) != 1 || r.Contents[0].URI != request.Params.URI {
				a.t.Fatalf("%s: %v %d contents", body, err, len(r.Contents))
			}
			out.WriteString(r.Contents[0].Text)
			continue
		}
		answer, err := a.call(request.Params.Name, request.Params.Arguments)
		if err != nil || answer.failed {
			a.t.Fatalf("%s: %v %.300s", body, err, answer.body)
		}
		out.Write(answer.body)
	}
	return out.String()
}

// untilSame requests the same in several ways, again if the market went on in
// between, and reports what differs.
func untilSame(t *testing.T, view string, ask func() map[string][]string) {
	t.Helper()
	for try := 0; ; try++ {
		told, diff := ask(), ""
		for way, facts := range told {
			if d := gocmp.Diff(told["curl"], facts); d != "" {
				diff += fmt.Sprintf("%s (-curl +%s): %.2000s\n", view, way, d)
			}
		}
		if diff == "" && len(told["curl"]) > 0 {
			for way, facts := range told {
				t.Logf("same=%s %s=%d", view, way, len(facts))
			}
			return
		}
		if try == 5 {
			t.Errorf("%d facts\n%s", len(told["curl"]), diff)
			return
		}
	}
}

// compareCommands runs what the pages of sites and orders offer for copying:
// curl and the resource have the same records, and the client reports the same,
// value by value.
func (s pagesSaid) compareCommands(t *testing.T, d *demoTest, token string) {
	t.Helper()
	p, agent := d.person(t, "PREISMON_TOKEN="+token), d.agent(t, "anna")
	first := s.Orders.Rows[0]
	shown := first[len(first)-1] // its number
	for view, orderID := range map[string]string{"sites": "", "sitesOfOrder": "", "orders": shown} {
		untilSame(t, view, func() map[string][]string {
			return map[string][]string{"curl": valuesOf(t, ran(t, s.Curl[view], token), orderID), "client": valuesOf(t, p.ranAll(s.CLI[view]), orderID)}
		})
		untilSame(t, view, func() map[string][]string {
			return map[string][]string{"curl": recordsOf(t, ran(t, s.Curl[view], token)), "resource": recordsOf(t, agent.called(s.MCP[view]))}
		})
	}
}

// compareStart runs what the start page offers for copying: curl, the client and
// the resource report the same, value by value.
func (s explorerSaid) compareStart(t *testing.T, d *demoTest, token string) {
	t.Helper()
	p, agent := d.person(t, "PREISMON_TOKEN="+token), d.agent(t, "anna")
	untilSame(t, "start", func() map[string][]string {
		return map[string][]string{
			"curl": valuesOf(t, ran(t, s.Curl["overview"], token), ""), "client": valuesOf(t, p.ranAll(s.CLI["overview"]), ""), "resource": valuesOf(t, agent.called(s.MCP["overview"]), ""),
		}
	})
}

// compareResources runs what the pages of the assortment and of products offer
// for copying: curl, the client and the resources have the same records.
func (s explorerSaid) compareResources(t *testing.T, d *demoTest, token string) {
	t.Helper()
	p, agent := d.person(t, "PREISMON_TOKEN="+token), d.agent(t, "anna")
	for view, of := range map[string]struct{ commands, calls string }{"assortment": {"assortment", "assortment"}, "summaries": {"history", "summaries"}} {
		untilSame(t, view, func() map[string][]string {
			return map[string][]string{
				"curl": recordsOf(t, ran(t, s.Curl[of.commands], token)), "client": recordsOf(t, p.ranAll(s.CLI[of.commands])), "resource": recordsOf(t, agent.called(s.MCP[of.calls])),
			}
		})
	}
}

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
)

// valuesOf returns the values that commands or tools reported, each as a text:
// of sites, orders, and the lists of the start page; of one order also its
// detail and its files. Times are in UTC.
func valuesOf(t *testing.T, out, orderID string) (all []string) {
	t.Helper()
	text := func(v any) string {
		b, err := json.Marshal(inUTC(v)) // with the keys in order
		must(t, err)
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

// siteFacts returns what the status of sites says, and what the summary of the
// tool for the quality of an order says: counts by reason and times.
func siteFacts(t *testing.T, out string) (all []string) {
	t.Helper()
	type fact struct {
		Site                                 string
		Reasons                              map[string]int
		LastCapturedAt, NextDueAt, LateSince *time.Time
	}
	var answer struct {
		Data    []fact
		Summary struct{ Sites []fact }
	}
	must(t, json.Unmarshal([]byte(out), &answer))
	sites := answer.Summary.Sites
	if sites == nil {
		sites = answer.Data
	}
	for _, site := range sites {
		reasons := map[string]int{}
		for name, n := range site.Reasons {
			if n > 0 { // a field of the status, or a code
				reasons[strings.ToUpper(strings.ReplaceAll(name, "_", ""))] = n
			}
		}
		all = append(all, fmt.Sprint(site.Site, " ", reasons, instants(site.LastCapturedAt, site.NextDueAt, site.LateSince)))
	}
	slices.Sort(all)
	return all
}

func instants(all ...*time.Time) (text string) {
	for _, at := range all {
		if at == nil {
			text += " -"
			continue
		}
		text += " " + at.UTC().Format(time.RFC3339Nano)
	}
	return text
}

// positionFacts returns the positions that the overview, and the tool for
// positions, have: the counts, and the first of those above the cheapest offer.
func positionFacts(t *testing.T, out string) (all []string) {
	t.Helper()
	type counts struct{ Positions, Above, Equal, Below, WithoutOwn, WithoutOther int }
	var answer struct {
		Data  []json.RawMessage
		Query json.RawMessage
	}
	must(t, json.Unmarshal([]byte(out), &answer))
	var overview struct{ Positions json.RawMessage } // an object; a number in an answer of the tool
	must(t, json.Unmarshal(answer.Query, &overview))
	add := func(text []byte) {
		var p map[string]any
		must(t, json.Unmarshal(text, &p))
		if difference, _ := p["difference"].(float64); difference > 0 {
			all = append(all, fmt.Sprint(inUTC(p)))
		}
	}
	var own counts
	if json.Unmarshal(overview.Positions, &own) == nil {
		for _, text := range answer.Data {
			var list struct{ Positions []json.RawMessage }
			must(t, json.Unmarshal(text, &list))
			for _, p := range list.Positions {
				add(p)
			}
		}
		return append(all, fmt.Sprintf("%+v", own))
	}
	for _, p := range answer.Data {
		add(p)
	}
	must(t, json.Unmarshal(answer.Query, &own))
	return append(all, fmt.Sprintf("%+v", own))
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

// toolCall is a call that the page offers for copying.
type toolCall struct {
	Params struct {
		Name      string
		Arguments map[string]any
	}
}

// called returns what a tool answers.
func (a *agent) called(text string) string {
	a.t.Helper()
	var call toolCall
	if err := json.Unmarshal([]byte(text), &call); err != nil {
		a.t.Fatalf("%s: %v", text, err)
	}
	answer, err := a.call(call.Params.Name, call.Params.Arguments)
	if err != nil || answer.failed {
		a.t.Fatalf("%s: %v %.300s", text, err, answer.body)
	}
	return string(answer.body)
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
// curl, the client and the tools report the same, value by value: of sites, the
// tools know those of one order. For all orders the tools report as much as their list has, and the rest
// for the order on show.
func (s pagesSaid) compareCommands(t *testing.T, d *demoTest, token string) {
	t.Helper()
	p, agent := d.person(t, "PREISMON_TOKEN="+token), d.agent(t, "anna")
	untilSame(t, "sites", func() map[string][]string {
		return map[string][]string{"curl": valuesOf(t, ran(t, s.Curl["sites"], token), ""), "client": valuesOf(t, p.ranAll(s.CLI["sites"]), "")}
	})
	untilSame(t, "sites of an order", func() map[string][]string {
		return map[string][]string{"curl": siteFacts(t, ran(t, s.Curl["sitesOfOrder"], token)), "tool": siteFacts(t, agent.called(s.MCP["sitesOfOrder"][0]))}
	})
	first := s.Orders.Rows[0]
	shown := first[len(first)-1] // its number
	untilSame(t, "orders", func() map[string][]string {
		var told strings.Builder
		for _, call := range s.MCP["orders"] {
			told.WriteString(agent.called(call))
		}
		return map[string][]string{"curl": valuesOf(t, ran(t, s.Curl["orders"], token), shown), "client": valuesOf(t, p.ranAll(s.CLI["orders"]), shown), "tool": valuesOf(t, told.String(), shown)}
	})
	if len(s.MCP["orders"]) != 4 {
		t.Errorf("calls of tools: %q", s.MCP)
	}
}

// compareStart runs what the start page offers for copying: curl and the client
// report the same, value by value, and the tool counts the same moves as the
// page.
func (s explorerSaid) compareStart(t *testing.T, d *demoTest, token string) {
	t.Helper()
	p, agent := d.person(t, "PREISMON_TOKEN="+token), d.agent(t, "anna")
	untilSame(t, "start", func() map[string][]string {
		return map[string][]string{"curl": valuesOf(t, ran(t, s.Curl["overview"], token), ""), "client": valuesOf(t, p.ranAll(s.CLI["overview"]), "")}
	})
	var told struct {
		Query struct{ Kinds map[string]int }
	}
	must(t, json.Unmarshal([]byte(agent.called(s.MCP["overview"])), &told))
	untilSame(t, "positions", func() map[string][]string {
		return map[string][]string{"curl": positionFacts(t, ran(t, s.Curl["overview"], token)), "tool": positionFacts(t, agent.called(s.MCP["stand"]))}
	})
	compared := 0
	for _, list := range s.Moved.Lists {
		var name string
		var count int
		if _, err := fmt.Sscan(list, &name, &count); err != nil {
			t.Fatalf("%q: %v", list, err)
		}
		if n := told.Query.Kinds[name]; max(n-count, count-n) > 2 { // what was captured by then but arrived later
			t.Errorf("the start counts %s, the tool %d of them", list, n)
		}
		compared++
	}
	if compared < 2 {
		t.Errorf("%v, of %v", s.Moved.Lists, told.Query.Kinds)
	}
}

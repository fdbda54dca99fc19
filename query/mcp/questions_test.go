package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/must"
)

// cost is what an agent pays for an answer.
type cost struct{ calls, tokens int }

// question is one of an analyst's week.
type question struct {
	name string
	asks string // in the words of the analyst, who knows names and numbers of products but none of our keys
	// before is what it cost when the issue was written, if that was measured;
	// holds is what it cost after the last improvement. A question without
	// holds is not answered correctly yet, or costs more than it may.
	before, holds cost
	beforeWrong   bool               // the answer measured then was wrong
	ask           func(*analyst) any // as an agent that knows what tools, answers and refusals say
	truth         func(*demo) any    // from every row that was written
}

// The maximum cost of an answer.
const (
	mostCalls  = 4
	mostTokens = 8_000
	mostMedian = 2 // calls
)

// TestQuestions is the scoreboard of the agents, with a line for each question.
// It fails if one with holds is answered wrongly, with more calls, or with over
// a twentieth more tokens than at its best.
func TestQuestions(t *testing.T) {
	d, count := newDemo(t), tokens(t)
	var calls, right, within []int
	for i, q := range questions() {
		a := &analyst{agent: d.agents.agent(d.account), count: count}
		got, want := text(t, q.ask(a)), text(t, q.truth(d))
		holds := got == want && !a.stopped
		line := fmt.Sprintf("question=%s calls=%d tokens=%d right=%t", q.name, a.calls, a.tokens, holds)
		if q.before.calls > 0 {
			line += fmt.Sprintf(" before=%d/%d", q.before.calls, q.before.tokens)
		}
		if q.beforeWrong {
			line += " before=wrong"
		}
		t.Log(line)
		calls = append(calls, a.calls)
		if holds {
			right = append(right, i)
		}
		if holds && a.calls <= mostCalls && a.tokens <= mostTokens {
			within = append(within, i)
		}
		switch {
		case q.holds == cost{}:
		case !holds:
			t.Errorf("%s was right before: %s\n%s", q.name, q.asks, cmp.Diff(want, got))
		case a.calls > q.holds.calls || a.tokens > q.holds.tokens*21/20:
			t.Errorf("%s took %d calls and %d tokens before: %s", q.name, q.holds.calls, q.holds.tokens, q.asks)
		case q.holds.calls > mostCalls || q.holds.tokens > mostTokens:
			t.Errorf("%s holds with more than it may cost", q.name)
		}
	}
	slices.Sort(calls)
	if len(within) < len(calls) || calls[len(calls)/2] > mostMedian {
		t.Errorf("%d of %d questions are answered rightly within %d calls and %d tokens; the median takes %d calls", len(within), len(calls), mostCalls, mostTokens, calls[len(calls)/2])
	}
	t.Logf("questions=%d right=%d within=%d median_calls=%d", len(calls), len(right), len(within), calls[len(calls)/2])
}

// text returns an answer as JSON, for comparison.
func text(t testing.TB, v any) string {
	t.Helper()
	b := must.Get(json.MarshalIndent(v, "", " "))(t)
	return string(b)
}

// analyst is a scripted agent answering one question.
type analyst struct {
	*agent
	count   func(string) int
	calls   int
	tokens  int
	stopped bool // it gave up
}

// patience is the number of calls after which an agent gives up.
const patience = 24

// call uses a tool and counts the tokens of the arguments and the answer.
func (a *analyst) call(name string, arguments object) (members object, refused bool) {
	a.t.Helper()
	r := a.agent.call(name, arguments)
	asked := must.Get(json.Marshal(arguments))(a.t)
	a.calls++
	a.tokens += a.count(name) + a.count(string(asked)) + a.count(string(r.Structured))
	a.stopped = a.stopped || a.calls >= patience
	decoder := json.NewDecoder(bytes.NewReader(r.Structured))
	decoder.UseNumber() // keeps amounts as they are written
	must.Do(a.t, decoder.Decode(&members))
	return members, r.IsError
}

// all returns the answers to a call that together are complete: it follows
// nextCursor, and sends the attempts of a refusal instead of the call.
func (a *analyst) all(name string, arguments object) (answers []object) {
	a.t.Helper()
	pending := []object{arguments}
	for len(pending) > 0 && !a.stopped {
		args := pending[0]
		pending = pending[1:]
		answer, refused := a.call(name, args)
		if refused {
			attempts := list(answer, "recovery", "attempts")
			if len(attempts) == 0 {
				a.stopped = true
			}
			for _, attempt := range attempts {
				pending = append(pending, attempt.(object))
			}
			continue
		}
		answers = append(answers, answer)
		if at(answer, "completeness", "complete") != true {
			next := object{"cursor": at(answer, "completeness", "nextCursor")}
			for k, v := range args {
				if k != "cursor" {
					next[k] = v
				}
			}
			pending = append([]object{next}, pending...)
		}
	}
	return answers
}

// records returns the records of all answers to a call.
func (a *analyst) records(name string, arguments object) (all []object) {
	a.t.Helper()
	for _, answer := range a.all(name, arguments) {
		for _, r := range list(answer, "data") {
			all = append(all, r.(object))
		}
	}
	return all
}

// site returns the key of a site by its name.
func (a *analyst) site(name string) any {
	a.t.Helper()
	return a.named("list_sites", name)["site"]
}

// order returns the id of an order by its name.
func (a *analyst) order(name string) any {
	a.t.Helper()
	return a.named("list_orders", name)["orderId"]
}

func (a *analyst) named(tool, name string) object {
	a.t.Helper()
	for _, r := range a.records(tool, object{}) {
		if strings.HasPrefix(fmt.Sprint(r["name"]), name) {
			return r
		}
	}
	a.t.Fatalf("%s: nothing with the name %q", tool, name)
	return nil
}

// lines returns a text for each record for which line returns one, sorted.
func lines(all []object, line func(object) string) []string {
	out := []string{}
	for _, r := range all {
		if l := line(r); l != "" {
			out = append(out, l)
		}
	}
	slices.Sort(out)
	return out
}

package main

import (
	"io"
	"strings"
	"testing"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestResultFlags: each command that reads results has a flag for each of their
// parameters, and sends what the flags say.
func TestResultFlags(t *testing.T) {
	std := streams{strings.NewReader(""), io.Discard, io.Discard}
	for name, flags := range map[string]func(*cli) *resultFlags{
		"results": func(c *cli) *resultFlags { return &c.Results.resultFlags },
		"stream":  func(c *cli) *resultFlags { return &c.Stream.resultFlags },
		"export":  func(c *cli) *resultFlags { return &c.Export.resultFlags },
		"sql":     func(c *cli) *resultFlags { return &c.SQL.resultFlags },
	} {
		line, want := []string{name}, map[string]string{}
		for _, p := range query.ResultsParameters {
			value := "x"
			switch {
			case p.Kind == query.PageParameter: // a command reads all pages
				continue
			case p.Values != nil:
				value = p.Values[0]
			case p.Type() == "boolean":
				value = "true"
			}
			want[p.Name] = value
			flag := "--" + dashed(p.Name) + "=" + value
			if group, ok := strings.CutPrefix(dashed(p.Name), "include-"); ok {
				flag = "--include=" + group
			}
			line = append(line, flag)
		}
		c := newCLI()
		if _, err := newParser(t.Context(), c, std, func(int) {}).Parse(line); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := map[string]string{}
		for parameter := range flags(c).params() {
			got[parameter] = flags(c).params().Get(parameter)
		}
		equals.Checkf(t, want, got, "%s", name)
	}
}

// TestResultFlagsOfFalse: what was observed as false can be asked for.
func TestResultFlagsOfFalse(t *testing.T) {
	c := newCLI()
	must.Get(newParser(t.Context(), c, streams{strings.NewReader(""), io.Discard, io.Discard}, func(int) {}).
		Parse([]string{"results", "--is-prime", "false", "--from", "2026-03-01"}))(t)
	if got := c.Results.params().Encode(); got != "capturedFrom=2026-03-01&isPrime=false" {
		t.Error(got)
	}
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"preismon/cmd/preismon/client"
	"preismon/query"
	"preismon/query/wire"
)

type explainCmd struct {
	Format  string   `help:"Format of the answer, given before the command: ${enum}." enum:"text,ndjson,csv,arrow,parquet" default:"text" env:"-"`
	Command []string `arg:"" passthrough:"" help:"The command with its flags, quoted or not."`
}

// explainable are the commands that read.
var explainable = []string{"results", "stream", "export", "changes", "alerts", "stats", "position", "movers", "windows", "evidence", "overview", "item-summary", "site-status", "order-status", "items", "sites", "orders", "history", "lookup"}

// inParts are the commands that read in parts what is too broad for one request.
var inParts = []string{"results", "stream", "export"}

func (c *explainCmd) Run(ctx context.Context, std streams) error {
	words := c.Command
	if len(words) == 1 {
		words = strings.Fields(words[0])
	}
	if len(words) == 0 || !slices.Contains(explainable, words[0]) {
		return faulty(fmt.Errorf("explain: begin with one of these commands: %s", strings.Join(explainable, ", ")))
	}
	var found client.Explanation
	ctx = client.Explain(ctx, &found)
	of := newCLI()
	parser := newParser(ctx, of, streams{strings.NewReader(""), io.Discard, std.err}, func(int) {})
	parsed, err := parser.Parse(words)
	if err != nil {
		return faulty(err)
	}
	err = parsed.Run(parsed, of.Log.logger(std.err))
	switch {
	case found.Request == "" && err != nil:
		return err
	case found.Request == "":
		return faulty(errors.New("explain: this command sends no request that the server could explain"))
	}
	if !found.Accepted && slices.Contains(inParts, words[0]) && len(found.Narrower) > 0 && client.TooBroad(found.Problem) {
		if c.Format != "text" {
			return c.write(std, &found)
		}
		_, err := fmt.Fprintf(std.out, "%-18s  %s\n%-18s  in parts\nAs one request it is refused: %v\nThe command reads it in parts, like:\n  %s\n", "request", found.Request, "accepted", byFlags(found.Problem), strings.Join(found.Narrower, "\n  "))
		return err
	}
	if err := c.write(std, &found); err != nil || found.Accepted {
		return err
	}
	return refusal(&found)
}

var explainFields = []string{
	"request", "accepted", "problem.code", "problem.detail", "window.capturedFrom", "window.capturedTo", "window.timezone", "sealed", "pairs", "rowsAtMost", "scannedAtMost", "bytesAtMost", "contentType", "narrower",
}

// write writes the explanation as a record, or for people, who see only the error
// of a refusal.
func (c *explainCmd) write(std streams, e *client.Explanation) error {
	if c.Format == "text" {
		if e.Accepted {
			return c.text(std.out, e)
		}
		return nil
	}
	out, err := tableFlag{Format: c.Format}.writer(std, explainFields, query.RecordColumns[wire.Explanation]())
	if err != nil {
		return err
	}
	return errors.Join(out.Write(e.Record), out.Close())
}

// refusal returns the error that the read would have, with suggestions of what would fit.
func refusal(e *client.Explanation) error {
	err := byFlags(e.Problem)
	if len(e.Narrower) > 0 {
		err = fmt.Errorf("%w\nTogether these cover it:\n  %s", err, strings.Join(e.Narrower, "\n  "))
	}
	return err
}

func (*explainCmd) text(out io.Writer, e *client.Explanation) error {
	lines := [][2]string{{"request", e.Request}, {"accepted", "yes"}}
	if w := e.Window; w != nil {
		lines = append(lines, [2]string{"window", cmp.Or(w.CapturedFrom, "the beginning") + " to " + cmp.Or(w.CapturedTo, "now")})
	}
	if e.Sealed != nil {
		lines = append(lines, [2]string{"sealed", map[bool]string{true: "yes: captures come late, if at all", false: "no"}[*e.Sealed]})
	}
	for _, n := range []struct {
		name  string
		value *uint64
	}{{"pairs", e.Pairs}, {"rows, at most", e.RowsAtMost}, {"looked at, at most", e.ScannedAtMost}, {"bytes, at most", e.BytesAtMost}} {
		if n.value != nil {
			lines = append(lines, [2]string{n.name, thousands(*n.value)})
		}
	}
	if e.ContentType != nil {
		lines = append(lines, [2]string{"type", *e.ContentType})
	}
	if strings.HasPrefix(e.Request, "/v1/results?") && strings.Contains(e.Request, "limit=10000") {
		lines = append(lines, [2]string{"", "That is of one page. The command reads all of them."})
	}
	var text strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&text, "%-18s  %s\n", l[0], l[1])
	}
	_, err := io.WriteString(out, text.String())
	return err
}

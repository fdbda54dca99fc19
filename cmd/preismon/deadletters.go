package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"preismon/contracts/fault"
	"preismon/ingest"

	"github.com/alecthomas/kong"
)

// deadLettersCmd shows and replays messages that could not be read.
type deadLettersCmd struct {
	List   lettersListCmd   `cmd:"" help:"List dead letters, newest first."`
	Show   lettersShowCmd   `cmd:"" help:"Show a dead letter with its message."`
	Replay lettersReplayCmd `cmd:"" help:"Publish the messages of dead letters again."`
}

// letterFlags select letters.
type letterFlags struct {
	Reason string `help:"Only those whose reason contains this text." placeholder:"TEXT"`
	Since  string `help:"Only those since then: 24h, or 2026-11-21T08:00:00Z." placeholder:"TIME"`
	Stream string `help:"Only those of this stream: OBSERVATIONS or CATALOG." placeholder:"STREAM"`
}

func (f letterFlags) filter(now time.Time) (ingest.LetterFilter, error) {
	out := ingest.LetterFilter{Reason: f.Reason, Stream: strings.ToUpper(f.Stream)}
	if f.Since == "" {
		return out, nil
	}
	if d, err := time.ParseDuration(f.Since); err == nil && d > 0 {
		out.Since = now.Add(-d)
		return out, nil
	}
	at, err := time.Parse(time.RFC3339, f.Since)
	if err != nil {
		return out, fmt.Errorf("since: %q is neither a duration like 24h nor a time like 2026-11-21T08:00:00Z", f.Since)
	}
	out.Since = at
	return out, nil
}

type lettersListCmd struct {
	catalogueBus `embed:""`
	Which        letterFlags `embed:""`
	Pending      bool        `help:"Only those that were not replayed."`
	Limit        int         `help:"Show at most this many, the newest; 0: all." default:"50"`
	JSON         bool        `name:"json" help:"Print one JSON object."`
}

func (c *lettersListCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	filter, err := c.Which.filter(time.Now())
	filter.Pending, filter.Limit = c.Pending, c.Limit
	return c.connected("deadletters", k, std, log, err, func(b *bus) error { return c.list(ctx, std, b, filter) })
}

func (c *lettersListCmd) list(ctx context.Context, std streams, b *bus, filter ingest.LetterFilter) error {
	list, matching, err := ingest.NewDeadLetters(b.js).List(ctx, filter)
	if err != nil {
		return err
	}
	if c.JSON {
		if list == nil {
			list = []ingest.DeadLetter{}
		}
		return json.NewEncoder(std.out).Encode(map[string]any{"letters": list, "matching": matching})
	}
	none := "No dead letters."
	if filter.Pending || c.Which != (letterFlags{}) {
		none = "No dead letters like that."
	}
	var rows [][]any
	for _, l := range list {
		replayed := "no"
		if l.Replayed != nil {
			replayed = l.Replayed.At.Format(time.DateOnly)
		}
		rows = append(rows, []any{fmt.Sprint(l.Letter), l.At.Format(time.RFC3339), l.Stream, fmt.Sprint(l.Seq), l.Size, replayed, l.Subject, l.Reason})
	}
	if err := printList(std, []string{"letter", "time", "stream", "sequence", "bytes", "replayed", "subject", "reason"}, rows, none); err != nil {
		return err
	}
	if matching > len(list) {
		fmt.Fprintf(std.err, "The newest %s of %s; see --limit.\n", thousands(len(list)), thousands(matching))
	}
	return nil
}

type lettersReplayCmd struct {
	catalogueBus `embed:""`
	Letters      []uint64     `arg:"" optional:"" help:"Numbers of the letters, as \"list\" prints them." placeholder:"LETTER"`
	All          bool         `help:"All that match the filters and were not replayed yet."`
	Which        letterFlags  `embed:""`
	Force        bool         `help:"Also replay what would fail again, was replayed before, or would restore an older state of a record."`
	DryRun       bool         `help:"Say what would happen, and publish nothing."`
	Applied      appliedFlags `embed:""`
}

func (c *lettersReplayCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	filter, err := c.Which.filter(time.Now())
	filter.Pending = !c.Force
	switch {
	case c.All && len(c.Letters) > 0:
		err = errors.Join(err, errors.New("all: cannot be combined with the numbers of letters"))
	case !c.All && len(c.Letters) == 0:
		err = errors.Join(err, errors.New("numbers of letters, or all: missing"))
	case !c.All && c.Which != letterFlags{}:
		err = errors.Join(err, errors.New("reason, since, stream: only together with all"))
	}
	return c.connected("deadletters", k, std, log, errors.Join(err, c.Applied.faults()), func(b *bus) error { return c.replay(ctx, std, log, b, filter) })
}

func (c *lettersReplayCmd) replay(ctx context.Context, std streams, log *slog.Logger, b *bus, filter ingest.LetterFilter) error {
	letters := ingest.NewDeadLetters(b.js)
	numbers := c.Letters
	if c.All {
		list, _, err := letters.List(ctx, filter)
		if err != nil {
			return err
		}
		for i := range list { // oldest first, so that the last state of a record stays the last
			numbers = append(numbers, list[len(list)-1-i].Letter)
		}
	}
	replayed, refused := 0, 0
	show := newProgress(std.err, log, "replaying", int64(len(numbers)))
	for i, n := range numbers {
		r, err := letters.Replay(ctx, ingest.ReplayRequest{Letter: n, Force: c.Force, DryRun: c.DryRun})
		switch kind := fault.KindOf(err); {
		case err == nil && c.DryRun:
			fmt.Fprintf(std.out, "%d: would be published to %s\n", n, r.Stream)
		case err == nil:
			fmt.Fprintf(std.out, "%d: published as sequence %d of %s\n", n, r.Seq, r.Stream)
		case kind == fault.Conflict || kind == fault.NotFound:
			refused++
			fmt.Fprintf(std.out, "%d: refused: %s\n", n, printable(err.Error(), ""))
			continue
		default:
			show.end()
			return fmt.Errorf("%w; run it again to continue; nothing is duplicated", err)
		}
		replayed++
		show.at(int64(i + 1))
	}
	show.end()
	verb := "replayed"
	if c.DryRun {
		verb = "would be replayed"
	}
	fmt.Fprintf(std.err, "%s %s, %s refused.\n", thousands(replayed), verb, thousands(refused))
	if !c.DryRun && replayed > 0 {
		if err := c.Applied.wait(ctx, b); err != nil {
			return err
		}
	}
	if refused > 0 {
		return errRejected
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"preismon/contracts/event"
	"preismon/ingest"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
)

// catalogueCmd shows and changes orders and sites.
type catalogueCmd struct {
	Orders catalogueOrdersCmd `cmd:"" help:"List, add, change and pause orders."`
	Sites  catalogueSitesCmd  `cmd:"" help:"List, add and change sites."`
}

// catalogueBus is what the commands on the catalogue of the streams, and those
// on dead letters, share.
type catalogueBus struct {
	roleFlags
	Bus busFlags `embed:""`
}

// connected calls do with a connection to the streams, of that name. faults are
// those of the flags.
func (c *catalogueBus) connected(name string, k *kong.Context, std streams, log *slog.Logger, faults error, do func(b *bus) error) error {
	cfg, err := c.Bus.config(name, log)
	if done, err := c.only(k, std.out, faulty(err, faults)); done {
		return err
	}
	b, err := connect(cfg)
	if err != nil {
		return err
	}
	defer b.conn.Close()
	return do(b)
}

// planFlags select whether a change is made without asking, or only shown.
type planFlags struct {
	Yes    bool `help:"Make the change without asking." env:"-"`
	DryRun bool `help:"Show the change, but do not make it." env:"-"`
}

// recordKind is how the records of one kind are found, listed, shown and changed.
type recordKind[T any] struct {
	kind    event.Kind
	find    func(ctx context.Context, b *bus, key string) (*T, error)
	all     func(context.Context, jetstream.JetStream) ([]*T, error)
	by      func(*T) string // what a list is sorted by
	columns []string
	none    string // what is printed if there are none
	row     func(*T) []any
	lines   []recordLine[T]
	done    func(after *T) string // what is printed after a change
}

// catalogueChange is what the commands that change a record share.
type catalogueChange struct {
	catalogueBus `embed:""`
	Plan         planFlags    `embed:""`
	Applied      appliedFlags `embed:""`
}

// change shows what a record becomes, asks for agreement, publishes it, and reports
// that. apply changes the record of the key, or fills a new one without a key.
func change[T any](ctx context.Context, c *catalogueChange, k *kong.Context, std streams, log *slog.Logger, of recordKind[T], key *string, apply func(b *bus, record *T) error) error {
	return c.connected("catalogue", k, std, log, c.Applied.faults(), func(b *bus) error {
		read, err := ingest.End(ctx, b.js, event.StreamCatalog)
		if err != nil {
			return err
		}
		var before *T
		after := new(T)
		if key != nil {
			if before, err = of.find(ctx, b, *key); err != nil {
				return err
			}
			*after = *before
		}
		if err := apply(b, after); err != nil {
			return err
		}
		if err := writeLines(std.err, of.lines, before, after); err != nil {
			return err
		}
		if c.Plan.DryRun {
			fmt.Fprintln(std.err, "Nothing was changed.")
			return nil
		}
		if !c.Plan.Yes {
			if err := consent(ctx, std, "change", "Make this change?", "nothing was changed"); err != nil {
				return err
			}
		}
		e := &event.Event{ID: uuid.NewString(), Kind: of.kind, Producer: "preismon catalogue", ProducedAt: time.Now().UTC(), Data: any(after).(event.Payload)}
		if err := publishRecord(ctx, b, e, read, log); err != nil {
			return err
		}
		if err := c.Applied.wait(ctx, b); err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "%s %s; event %s\n", time.Now().UTC().Format(time.RFC3339), of.done(after), e.ID)
		return err
	})
}

// publishRecord publishes the new state of a record, unless it was changed since
// it was read, after that sequence of CATALOG.
func publishRecord(ctx context.Context, b *bus, e *event.Event, read uint64, log *slog.Logger) error {
	pub, err := ingest.NewPublisher(b.conn, ingest.PublisherConfig{}, log)
	if err != nil {
		return err
	}
	defer pub.Close()
	err = pub.PublishAfter(ctx, read, e)
	if errors.Is(err, ingest.ErrOvertaken) {
		return errors.New("somebody else changed it in the meantime, so nothing was changed; look at it again, and repeat the command")
	}
	return err
}

// recordLine is a line about a record of the catalogue.
type recordLine[T any] struct {
	name string
	of   func(*T) string
}

// writeLines writes lines about a record, each with its earlier value if that
// differs; before may be nil.
func writeLines[T any](w io.Writer, lines []recordLine[T], before, after *T) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		text := l.of(after)
		if before != nil && l.of(before) != text {
			text += "\t(was: " + l.of(before) + ")"
		}
		fmt.Fprintf(t, "%s\t%s\n", l.name, text)
	}
	return t.Flush()
}

// showRecord shows the record of a key.
func showRecord[T any](ctx context.Context, c catalogueBus, k *kong.Context, std streams, log *slog.Logger, of recordKind[T], key string) error {
	return c.connected("catalogue", k, std, log, nil, func(b *bus) error {
		record, err := of.find(ctx, b, key)
		if err != nil {
			return err
		}
		return writeLines(std.out, of.lines, nil, record)
	})
}

func listRecords[T any](ctx context.Context, c catalogueBus, k *kong.Context, std streams, log *slog.Logger, of recordKind[T]) error {
	return c.connected("catalogue", k, std, log, nil, func(b *bus) error {
		all, err := of.all(ctx, b.js)
		if err != nil {
			return err
		}
		slices.SortStableFunc(all, func(a, b *T) int { return strings.Compare(of.by(a), of.by(b)) })
		var rows [][]any
		for _, r := range all {
			rows = append(rows, of.row(r))
		}
		return printList(std, of.columns, rows, of.none)
	})
}

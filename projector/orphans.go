package projector

import (
	"context"
	"strings"

	"preismon/contracts/event"
)

// Orphans are rows beyond the checkpoint whose event was not ingested and whose
// message is gone from the stream: a batch was cut off, and then the stream
// lost its tail. Nothing will complete them, and what a producer publishes
// again gets other places. They are removed before the checkpoint passes them
// and readers see them.

// removeOrphans removes the orphans of epochs up to until, in which nothing is
// written any more. No batch is under way. Orphans are deleted from
// observations last, so that it names the pairs of all of them wherever a crash
// interrupts this.
func (p *Projector) removeOrphans(ctx context.Context, until uint32) error {
	mark := p.marks[event.StreamObservations]
	if until < mark.epoch {
		return nil
	}
	about := args{"epoch": mark.epoch, "seq": mark.seq, "until": until}
	var total uint64
	for _, table := range rowTables {
		n, err := p.orphans(ctx, table, about)
		if err != nil {
			return err
		}
		total += n
	}
	if total == 0 {
		return nil
	}
	write := func(name string) func(context.Context) error {
		return func(ctx context.Context) error { return p.write(ctx, name, orphaned(name, ""), about) }
	}
	remove := func(table string) func(context.Context) error {
		return func(ctx context.Context) error { return p.deleteOrphans(ctx, table, about) }
	}
	if err := inOrder(ctx,
		write("insert_orphans"),
		write("refill_latest"), // ranks below the orphans, so a merge may drop it
		remove("latest_observations"),
		write("refill_latest"), remove("observations_by_mandate"), remove("observations"),
	); err != nil {
		return p.failed(err)
	}
	p.log.Warn("removed rows of events that the stream lost before they were applied", "rows", total, "epoch", mark.epoch, "beyond", mark.seq)
	return nil
}

func (p *Projector) orphans(ctx context.Context, table string, about args) (uint64, error) {
	return p.askNumber(ctx, "orphans", orphaned("orphans", table), about)
}

func (p *Projector) deleteOrphans(ctx context.Context, table string, about args) error {
	if n, err := p.orphans(ctx, table, about); n == 0 || err != nil {
		return err
	}
	if err := p.mutate(ctx, "delete_orphans", orphaned("delete_orphans", table), about); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.StatementTimeout)
	defer cancel()
	return await(ctx, func() (bool, error) {
		running, err := p.number(ctx, "mutations", args{"table": table})
		if running > 0 || err != nil {
			return false, err
		}
		n, err := p.orphans(ctx, table, about)
		return n == 0, err
	})
}

// orphaned returns a query about the orphans of a table.
func orphaned(name, table string) string {
	return strings.NewReplacer("{orphan}", question("orphan"), "{table}", table).Replace(question(name))
}

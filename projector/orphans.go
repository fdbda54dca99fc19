package projector

import (
	"context"
	"strings"

	"preismon/contracts/event"
)

// Orphans are rows beyond the checkpoint whose event was not ingested and
// whose message the stream has lost: a batch was cut off, and then the stream
// lost its tail. Nothing will complete them, and what a producer publishes
// again stands at other places. They go before the checkpoint passes them and
// readers see them.

// orphanTables are in the order in which orphans go: observations knows the
// pairs of all of them to the end, wherever a crash ends this.
var orphanTables = [...]string{"latest_observations", "observations_by_mandate", "observations"}

// removeOrphans removes the orphans of epochs up to until. No batch is under
// way.
func (p *Projector) removeOrphans(ctx context.Context, until uint32) error {
	mark := p.marks[event.StreamObservations]
	if until < mark.epoch {
		return nil
	}
	about := args{"epoch": mark.epoch, "seq": mark.seq, "until": until}
	var total uint64
	for _, table := range orphanTables {
		n, err := p.orphans(ctx, table, about)
		if err != nil {
			return err
		}
		total += n
	}
	if total == 0 {
		return nil
	}
	if err := p.write(ctx, "insert_orphans", orphaned("insert_orphans", ""), about, nil); err != nil {
		return p.failed(err)
	}
	for _, table := range orphanTables {
		if err := p.deleteOrphans(ctx, table, about); err != nil {
			return p.failed(err)
		}
		if table != "latest_observations" {
			continue
		}
		if err := p.write(ctx, "refill_latest", orphaned("refill_latest", ""), about, nil); err != nil {
			return p.failed(err)
		}
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
		running, err := p.number(ctx, "mutations", nil)
		if running > 0 || err != nil {
			return false, err
		}
		n, err := p.orphans(ctx, table, about)
		return n == 0, err
	})
}

// orphaned is a question about the orphans of a table.
func orphaned(name, table string) string {
	return strings.NewReplacer("{orphan}", question("orphan"), "{table}", table).Replace(question(name))
}

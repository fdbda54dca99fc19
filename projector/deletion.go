package projector

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"

	"preismon/projector/clickhouse"
)

// beginDeletion starts to delete the mandate's rows for pairs that are not in
// the scope in force. The server deletes them in the background.
func (p *Projector) beginDeletion(ctx context.Context, m uint64, v *view) error {
	v.become(deleting)
	n, err := p.number(ctx, "foreign_rows", args{"mandate": m, "version": v.version})
	if err != nil {
		return err
	}
	if n == 0 {
		return p.markExact(ctx, m, v)
	}
	return p.mutate(ctx, "delete", question("delete_rows"), args{"mandate": m, "version": v.version, "pairs": v.scope.pairs()})
}

// mutate runs a deletion. A mutation is stored as text, so its values, which
// are all numbers, are written into the text.
func (p *Projector) mutate(ctx context.Context, what, sql string, a args) error {
	p.fenced(a)
	for k, v := range a {
		for _, t := range []string{"UInt64", "UInt32", "UInt16", "Int64"} {
			sql = strings.ReplaceAll(sql, "{"+k+":"+t+"}", fmt.Sprint(v))
		}
	}
	return p.send(ctx, what, ch.Query{Body: sql})
}

// deletions returns the mandates whose rows are being deleted, by this leader
// or by an earlier one; 0: another program is deleting rows, of any mandate.
func (p *Projector) deletions(ctx context.Context) (map[uint64]struct{}, error) {
	var mandate uint64
	running := map[uint64]struct{}{}
	return running, p.read(ctx, "deletions", nil, clickhouse.Row{"mandate": &mandate}, func() { running[mandate] = struct{}{} })
}

// endDeletions checks which deletions are done, and records it. What was
// granted meanwhile is then due.
func (p *Projector) endDeletions(ctx context.Context) error {
	var running map[uint64]struct{}
	for m, v := range p.views {
		if !v.busy() {
			continue
		}
		if running == nil {
			var err error
			if running, err = p.deletions(ctx); err != nil {
				return err
			}
		}
		if deletes(running, m) {
			continue
		}
		if v.rows == inherited {
			v.become(incomplete)
			v.waits = false
			p.outdated[m] = struct{}{}
			continue
		}
		if err := p.endDeletion(ctx, m, v); err != nil {
			return err
		}
	}
	return nil
}

// deletes reports whether a running deletion may remove rows of the mandate.
func deletes(running map[uint64]struct{}, m uint64) bool {
	_, its := running[m]
	_, any := running[0]
	return its || any
}

// endDeletion records that the mandate's deletion is done, if nothing is left
// to delete.
func (p *Projector) endDeletion(ctx context.Context, m uint64, v *view) error {
	n, err := p.number(ctx, "foreign_rows", args{"mandate": m, "version": v.version})
	if err != nil {
		return err
	}
	if n > 0 { // it never began, or pairs were revoked since
		return p.beginDeletion(ctx, m, v)
	}
	if err := p.markExact(ctx, m, v); err != nil {
		return err
	}
	if v.waits {
		v.waits = false
		p.outdated[m] = struct{}{}
	}
	return nil
}

// await calls done repeatedly, at growing intervals, until it succeeds or fails
// or ctx ends.
func await(ctx context.Context, done func() (bool, error)) error {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// sweepEvery is how often, at most, a batch also checks deletions and old
// scopes.
const sweepEvery = time.Second

// sweep does now and then what can wait. What fails is tried again later.
func (p *Projector) sweep(ctx context.Context) {
	if time.Since(p.swept) < sweepEvery {
		return
	}
	p.swept = time.Now()
	if err := p.housekeep(ctx); err != nil {
		p.log.Warn("housekeeping failed", "error", err)
		p.becomeUnsure()
	}
}

// Maintain brings scopes into force that a crash left behind, finishes
// deletions and removes old scopes. Batches do so too; call it from time to
// time so that it also happens when there are no batches.
func (p *Projector) Maintain(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.quiesce(ctx); err != nil {
		return err
	}
	p.swept = time.Now()
	if err := p.housekeep(ctx); err != nil {
		return p.failed(err)
	}
	if !p.loading {
		if err := p.applyScopes(ctx); err != nil {
			return p.failed(err)
		}
	}
	p.gauge()
	return nil
}

func (p *Projector) housekeep(ctx context.Context) error {
	return inOrder(ctx, p.endDeletions, p.announce, p.removeScopes, p.removeExpired)
}

// removeScopes deletes the pairs of versions that were replaced KeepScopes ago.
// A statement with such a version would find no rows, and no error: reads are
// much shorter than that, and long streams check every few seconds whether
// their version is still in force (package query). An unfinished
// deletion of rows still reads the pairs of its version, in several statements,
// so those of its mandate stay until it ends. A version is forgotten when its
// pairs are gone, because a statement that the fence stops deletes none.
func (p *Projector) removeScopes(ctx context.Context) error {
	if len(p.stale) == 0 || time.Since(p.stale[0].since) < p.cfg.KeepScopes {
		return nil
	}
	if n, err := p.number(ctx, "scope_deletions", nil); n > 0 || err != nil {
		return err
	}
	running, err := p.deletions(ctx)
	if err != nil {
		return err
	}
	var due []staleScope
	for _, s := range p.stale {
		if time.Since(s.since) >= p.cfg.KeepScopes && !deletes(running, s.mandate) {
			due = append(due, s)
		}
	}
	for some := range slices.Chunk(due, 100) {
		if err := p.removeSome(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// removeSome deletes the pairs of some versions, and forgets those that have
// none any more.
func (p *Projector) removeSome(ctx context.Context, some []staleScope) error {
	upTo := map[uint64]uint64{}
	for _, s := range some {
		upTo[s.mandate] = max(upTo[s.mandate], s.upTo)
	}
	var which []string
	for m, v := range upTo {
		which = append(which, fmt.Sprintf("(mandate = %d AND version <= %d)", m, v))
	}
	of := func(name string) string {
		return strings.ReplaceAll(question(name), "{which}", strings.Join(which, " OR "))
	}
	var mandate uint64
	var left []uint64
	err := p.ask(ctx, "stale_scopes", of("stale_scopes"), nil, clickhouse.Row{"mandate": &mandate}, func() { left = append(left, mandate) })
	if err != nil {
		return err
	}
	p.stale = slices.DeleteFunc(p.stale, func(s staleScope) bool {
		return slices.Contains(some, s) && !slices.Contains(left, s.mandate)
	})
	if len(left) == 0 {
		return nil
	}
	return p.mutate(ctx, "delete_scopes", of("delete_scopes"), args{})
}

package projector

import (
	"context"
	"fmt"
	"slices"
	"time"

	"preismon/projector/clickhouse"
)

// view is a mandate's scope as published.
type view struct {
	scope          scope  // in force
	version        uint64 // of it; 0: none was ever published
	appliedVersion uint64 // the version in scopes_applied
	newest         uint64 // the greatest number ever used for a version; 0: none
	indexed        scope  // what the index holds of the mandate
	rows           rowsState
	waits          bool // what the orders grant beyond scope waits for the deletion
}

// rowsState is what observations_by_mandate holds of a mandate, relative to its
// scope in force.
type rowsState uint8

const (
	exact      rowsState = iota // the rows of the scope and no others
	incomplete                  // a change was begun: rows may be missing, and others may be there
	deleting                    // all, and others that are being deleted

	// Like incomplete, and a deletion that an earlier leader began is still
	// running. It is never killed: KILL MUTATION returns, and the server shows
	// neither mutation nor merge, before the last part is done.
	inherited
)

// becomes lists the states that may follow each state.
var becomes = map[rowsState][]rowsState{
	exact:      {exact, incomplete, deleting}, // exact for another version with the same pairs
	incomplete: {incomplete, exact, deleting},
	deleting:   {deleting, exact},
	inherited:  {incomplete},
}

func (v *view) become(next rowsState) {
	if !slices.Contains(becomes[v.rows], next) {
		panic(fmt.Sprintf("a mandate's rows cannot become %d from %d", next, v.rows))
	}
	v.rows = next
}

// busy reports whether rows of the mandate are being deleted. Meanwhile its
// scope can lose pairs, but not gain any: a row that a grant finds there may be
// gone a moment later.
func (v *view) busy() bool { return v.rows == deleting || v.rows == inherited }

// uncertain reports whether a version was numbered after the one in force:
// either its outcome is unknown and it may be in force, or its mark was left
// behind. Only a newer version makes it certain.
func (v *view) uncertain() bool { return max(v.newest, v.appliedVersion) > v.version }

// staleScope is a set of pairs that is no longer in force.
type staleScope struct {
	mandate, upTo uint64
	since         time.Time
}

// loadViews reads what is published. The first batch checks what the scopes
// should be.
func (p *Projector) loadViews(ctx context.Context) error {
	p.index, p.views, p.stale = newIndex(), map[uint64]*view{}, nil
	var m, force, appliedTo, oldest, newest uint64
	err := p.read(ctx, "scope_versions", args{"partition": p.cfg.Partition}, clickhouse.Row{
		"mandate": &m, "in_force": &force, "applied": &appliedTo, "oldest": &oldest, "newest": &newest,
	}, func() {
		v := &view{version: force, appliedVersion: appliedTo, newest: newest}
		if v.appliedVersion != v.version {
			v.rows = incomplete
		}
		p.views[m] = v
		p.outdated[m] = struct{}{}
		if oldest < v.version {
			p.stale = append(p.stale, staleScope{m, v.version - 1, time.Now()})
		}
	})
	if err != nil {
		return err
	}
	running, err := p.deletions(ctx)
	if err != nil {
		return err
	}
	for m, v := range p.views {
		if v.rows == incomplete && deletes(running, m) {
			v.rows = inherited
		}
	}
	return p.loadScopes(ctx)
}

// applyScopes brings the scope of every touched mandate into force.
func (p *Projector) applyScopes(ctx context.Context) error {
	for _, m := range p.touched() {
		if err := p.applyScope(ctx, m); err != nil {
			return fmt.Errorf("scope of mandate %d: %w", m, err)
		}
		delete(p.outdated, m)
	}
	return nil
}

// applyScope brings one mandate's scope into force, in steps that each leave
// readers with a correct answer:
//
//  1. Revoked pairs are hidden: a version without them is published.
//  2. scopes_applied gets a version that is never in force, so that no reader
//     leaves the pair filter out while rows of other pairs are in the table.
//  3. The new pairs are added to the index, so that every observation from now
//     on is written for them, and the pairs of the new version are written.
//  4. The rows of the past are filled in.
//  5. The new version is published.
//  6. The rows of revoked pairs are deleted, and scopes_applied is written.
//
// After a failure anywhere it is simply called again; after a restart the
// tables show which steps must be repeated. While a deletion runs only the
// first step is done, and the others when it has ended; no other mandate waits.
func (p *Projector) applyScope(ctx context.Context, m uint64) error {
	v := p.views[m]
	if v == nil {
		v = &view{}
	}
	want := p.wanted(m)
	if v.busy() {
		return p.narrow(ctx, m, v, want)
	}
	granted, revoked, differs := change(v.scope, want)
	differs = differs || v.uncertain()
	if !differs && v.rows == exact {
		p.setIndex(m, v, want)
		return nil
	}
	p.views[m] = v
	known := v.rows == exact // the rows in the table match the pairs in force
	if revoked > 0 && granted > 0 {
		if err := p.publish(ctx, m, v, want.within(v.scope)); err != nil {
			return err
		}
	}
	if granted > 0 || !known {
		v.become(incomplete)
		if v.appliedVersion == v.version {
			p.nextVersion(v)
			if err := p.markApplied(ctx, m, v, v.newest); err != nil {
				return err
			}
			if v.version > 0 { // otherwise no reader sees anything of the mandate
				if err := p.announce(ctx); err != nil {
					return err
				}
			}
		}
	}
	p.setIndex(m, v, want)

	version, without := v.version, v.version
	if differs {
		var err error
		if version, err = p.writeScope(ctx, m, v, want); err != nil {
			return err
		}
	}
	if !known {
		without = 0
	}
	if err := p.backfill(ctx, m, version, without, !known); err != nil {
		return err
	}
	if differs {
		if err := p.enforce(ctx, m, v, version, want); err != nil {
			return err
		}
	}
	p.count(func(s *Stats) { s.GrantedPairs += uint64(granted); s.RevokedPairs += uint64(revoked) })
	p.log.Info("scope in force", "mandate", m, "version", version, "pairs", want.pairs(), "granted", granted, "lost", revoked)
	if revoked == 0 && known {
		return p.markExact(ctx, m, v)
	}
	return p.beginDeletion(ctx, m, v)
}

// narrow removes from the scope in force what the orders no longer give, while
// a deletion runs. What they give beyond it waits.
func (p *Projector) narrow(ctx context.Context, m uint64, v *view, want scope) error {
	granted, _, _ := change(v.scope, want)
	rest := want.within(v.scope)
	if _, revoked, differs := change(v.scope, rest); differs || v.uncertain() {
		if err := p.publish(ctx, m, v, rest); err != nil {
			return err
		}
		p.count(func(s *Stats) { s.RevokedPairs += uint64(revoked) })
		p.log.Info("scope in force", "mandate", m, "version", v.version, "pairs", rest.pairs(), "lost", revoked)
	}
	p.setIndex(m, v, v.scope)
	v.waits = granted > 0
	if v.waits {
		p.log.Info("a grant waits for a deletion of the mandate's rows", "mandate", m, "pairs", granted)
	}
	return nil
}

// nextVersion assigns the mandate's next version number. Numbers of several
// partitions differ, so that a reader of all of them can name one of each:
// partition p of n counts p+n, p+2n, and so on.
func (p *Projector) nextVersion(v *view) {
	v.newest = max(v.newest, uint64(p.cfg.Partition)) + uint64(p.cfg.Partitions)
}

// setIndex puts the scope into the index.
func (p *Projector) setIndex(m uint64, v *view, s scope) {
	p.index.set(m, v.indexed, s)
	v.indexed = s
}

// publish writes a scope and puts it in force.
func (p *Projector) publish(ctx context.Context, m uint64, v *view, s scope) error {
	version, err := p.writeScope(ctx, m, v, s)
	if err != nil {
		return err
	}
	return p.enforce(ctx, m, v, version, s)
}

// enforce puts a written version in force.
func (p *Projector) enforce(ctx context.Context, m uint64, v *view, version uint64, s scope) error {
	p.unannounced = true
	err := p.insert(ctx, "scopes", args{"mandate": m, "version": version, "pairs": s.pairs(), "items": len(s.items)}, nil, nil)
	if err != nil {
		return err
	}
	if v.version > 0 {
		p.stale = append(p.stale, staleScope{m, version - 1, time.Now()})
	}
	if v.rows == exact { // until the rows are found, or made, exact for this version
		v.become(incomplete)
	}
	v.scope, v.version = s, version
	p.count(func(s *Stats) { s.ScopeVersions++ })
	return p.announce(ctx)
}

// markExact records that the table holds exactly the scope in force.
func (p *Projector) markExact(ctx context.Context, m uint64, v *view) error {
	if err := p.markApplied(ctx, m, v, v.version); err != nil {
		return err
	}
	v.become(exact)
	return nil
}

func (p *Projector) markApplied(ctx context.Context, m uint64, v *view, version uint64) error {
	p.unannounced = true
	if err := p.insert(ctx, "scopes_applied", args{"mandate": m, "version": version}, nil, nil); err != nil {
		return err
	}
	v.appliedVersion = version
	return nil
}

// backfill copies rows of the version's pairs from observations, except those
// of pairs that version without also has. With look, it copies only what is not
// there yet.
func (p *Projector) backfill(ctx context.Context, m, version, without uint64, look bool) error {
	a := func() args {
		return p.floor.of(args{"mandate": m, "version": version, "without": without, "look": look})
	}
	type span struct {
		first, last uint64
		look        bool
	}
	var (
		spans          []span
		item           uint64
		rows, n, there int64
	)
	err := p.read(ctx, "backfill_plan", a(), clickhouse.Row{"item": &item, "n": &n, "there": &there}, func() {
		if len(spans) == 0 || rows+n+there > int64(p.cfg.BackfillRows) {
			spans = append(spans, span{first: item})
			rows = 0
		}
		s := &spans[len(spans)-1]
		s.last = item
		s.look = s.look || there > 0
		rows += n + there
	})
	if err != nil {
		return err
	}
	for _, s := range spans {
		b := a()
		// Items between two of the plan lack nothing; with look their rows are
		// found to be there, and look is only omitted when nothing is there.
		b["first"], b["last"], b["look"] = s.first, s.last, look
		if err := p.write(ctx, "backfill", question("backfill"), b); err != nil {
			return err
		}
		p.count(func(s *Stats) { s.Backfills++ })
	}
	return nil
}

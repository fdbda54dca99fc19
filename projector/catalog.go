package projector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/projector/clickhouse"
)

// ApplyCatalog writes the batch's records to their tables, and brings the
// scopes they affect into force. While more of the catalogue is pending, scopes
// wait too, so that a large catalogue does not publish every intermediate step;
// the next observations are not applied before them.
func (p *Projector) ApplyCatalog(ctx context.Context, b *event.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.quiesce(ctx); err != nil {
		return err
	}
	if err := p.applyCatalog(ctx, b); errors.As(err, new(*event.Rejected)) {
		return err // nothing was written
	} else if err != nil {
		return p.failed(err)
	}
	p.sweep(ctx)
	p.gauge()
	return nil
}

func (p *Projector) applyCatalog(ctx context.Context, b *event.Batch) error {
	if err := p.follows(b); err != nil {
		return err
	}
	mark := p.marks[b.Stream]
	tables := map[string]*recordTable{}
	var fresh []*event.Message
	for i := range b.Messages {
		m := &b.Messages[i]
		if !(position{b.Epoch, m.Seq}).after(mark) {
			continue
		}
		if m.Seq >= 1<<32 {
			return fmt.Errorf("sequence %d of the catalogue has more than 32 bits", m.Seq)
		}
		if err := addRecord(tables, m.Event, versionOf(b.Epoch, m.Seq)); err != nil {
			return fmt.Errorf("sequence %d: %w", m.Seq, err)
		}
		fresh = append(fresh, m)
	}
	if err := p.admit(fresh, b.Epoch); err != nil {
		return err
	}
	var rows uint64
	for _, name := range catalogTables {
		if t, ok := tables[name]; ok {
			if err := p.insert(ctx, name, nil, t.in, nil); err != nil {
				return err
			}
			rows += uint64(t.rows)
		}
	}
	for _, m := range fresh {
		p.note(m.Event, versionOf(b.Epoch, m.Seq))
	}
	p.loading = b.Pending > 0
	if !p.loading && len(p.outdated) > 0 { // scopes may take a while: what accounts may do does not wait for them
		p.unannounced = true
		if err := p.announce(ctx); err != nil {
			return err
		}
	}
	if !p.loading {
		if err := p.applyScopes(ctx); err != nil {
			return err
		}
	}
	if err := p.advance(ctx, b); err != nil {
		return err
	}
	p.count(func(s *Stats) { s.CatalogRecords += rows })
	return nil
}

// versionOf returns the version of a record: its position in the stream.
func versionOf(epoch uint32, seq uint64) uint64 { return uint64(epoch)<<32 | seq }

// recordsIn passes on the positions, from first to last, and the subjects of the
// records in force that came from there.
func recordsIn(ask asking, first, last position, give func(at position, subject string)) error {
	var version uint64
	var subject string
	return ask("records_in_range", args{"first": versionOf(first.epoch, first.seq), "last": versionOf(last.epoch, last.seq)},
		clickhouse.Row{"version": &version, "subject": &subject}, func() {
			give(position{uint32(version >> 32), version & (1<<32 - 1)}, subject)
		})
}

// itemPackage is the maximum number of items that a mandate sees.
type itemPackage struct {
	maxItems int
	version  uint64 // of the record
}

// note records what scopes are derived from, and who may log in.
func (p *Projector) note(e *event.Event, version uint64) {
	switch d := e.Data.(type) {
	case *contracts.Mandate:
		p.packages[uint64(d.MandateID)] = itemPackage{d.Package.MaxItems, version}
		p.outdated[uint64(d.MandateID)] = struct{}{}
	case *contracts.Order:
		p.noteOrder(d, version)
	case *contracts.Account:
		p.logins.set(uint64(d.AccountID), holderOf(d, version))
	}
}

func (p *Projector) noteOrder(o *contracts.Order, version uint64) {
	m := uint64(o.MandateID)
	if p.orders[m] == nil {
		p.orders[m] = map[uint64]*order{}
	}
	p.orders[m][uint64(o.OrderID)] = newOrder(o, p.sites, version)
	p.outdated[m] = struct{}{}
}

// loadCatalog reads back from the tables what scopes are derived from.
func (p *Projector) loadCatalog(ctx context.Context) error {
	p.sites, p.orders, p.packages, p.outdated = newSites(), map[uint64]map[uint64]*order{}, map[uint64]itemPackage{}, map[uint64]struct{}{}
	var (
		mandate, maximum, id, version uint64
		created                       int64
		active                        bool
		items                         []uint64
		sites                         []string
	)
	err := p.read(ctx, "packages", nil, clickhouse.Row{"mandate": &mandate, "max_items": &maximum, "version": &version}, func() {
		p.packages[mandate] = itemPackage{int(maximum), version}
		p.outdated[mandate] = struct{}{}
	})
	if err != nil {
		return err
	}
	return p.read(ctx, "orders", nil, clickhouse.Row{
		"mandate": &mandate, "order_id": &id, "active": &active, "created_ms": &created, "items": &items, "sites": &sites, "version": &version,
	}, func() {
		p.noteOrder(&contracts.Order{
			OrderID: contracts.OrderID(id), MandateID: contracts.MandateID(mandate), Active: active, CreatedAt: time.UnixMilli(created),
			Items: of(items, func(id uint64) contracts.ItemID { return contracts.ItemID(id) }),
			Sites: of(sites, func(s string) contracts.SiteKey { return contracts.SiteKey(s) }),
		}, version)
	})
}

// wanted returns the scope that the mandate's orders now give it. A mandate
// that is not known yet has none.
func (p *Projector) wanted(mandate uint64) scope {
	held, ok := p.packages[mandate]
	if !ok {
		return scope{}
	}
	return scopeOf(slices.Collect(maps.Values(p.orders[mandate])), held.maxItems)
}

// touched returns the mandates whose scope must be checked, in order.
func (p *Projector) touched() []uint64 { return sortedKeys(p.outdated) }

package projector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts"
	"preismon/contracts/event"
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
	var version proto.ColUInt64
	var subject proto.ColStr
	return ask("records_in_range", args{"first": versionOf(first.epoch, first.seq), "last": versionOf(last.epoch, last.seq)},
		proto.Results{{Name: "version", Data: &version}, {Name: "subject", Data: &subject}}, func() {
			for i, v := range version {
				give(position{uint32(v >> 32), v & (1<<32 - 1)}, subject.Row(i))
			}
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
		mandate, maximum, id, version proto.ColUInt64
		created                       proto.ColInt64
		active                        proto.ColBool
		items                         = new(proto.ColUInt64).Array()
		sites                         = new(proto.ColStr).Array()
	)
	err := p.read(ctx, "packages", nil, proto.Results{{Name: "mandate", Data: &mandate}, {Name: "max_items", Data: &maximum}, {Name: "version", Data: &version}}, func() {
		for i := range mandate {
			p.packages[mandate[i]] = itemPackage{int(maximum[i]), version[i]}
			p.outdated[mandate[i]] = struct{}{}
		}
	})
	if err != nil {
		return err
	}
	return p.read(ctx, "orders", nil, proto.Results{
		{Name: "mandate", Data: &mandate},
		{Name: "order_id", Data: &id},
		{Name: "active", Data: &active},
		{Name: "created_ms", Data: &created},
		{Name: "items", Data: items},
		{Name: "sites", Data: sites},
		{Name: "version", Data: &version},
	}, func() {
		for i := range mandate {
			o := &contracts.Order{
				OrderID: contracts.OrderID(id[i]), MandateID: contracts.MandateID(mandate[i]), Active: active[i],
				CreatedAt: time.UnixMilli(created[i]),
			}
			for _, id := range items.Row(i) {
				o.Items = append(o.Items, contracts.ItemID(id))
			}
			for _, s := range sites.Row(i) {
				o.Sites = append(o.Sites, contracts.SiteKey(s))
			}
			p.noteOrder(o, version[i])
		}
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
func (p *Projector) touched() []uint64 {
	list := make([]uint64, 0, len(p.outdated))
	for m := range p.outdated {
		list = append(list, m)
	}
	slices.Sort(list)
	return list
}

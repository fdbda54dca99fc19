package projector

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts"
	"preismon/contracts/event"
)

// ApplyCatalog writes the batch's records to their tables, and brings the
// scopes they touch into force. While more of the catalogue waits, scopes
// wait too, so that a large catalogue does not publish every step on its way;
// the next observations do not pass them.
func (p *Projector) ApplyCatalog(ctx context.Context, b *event.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.calm(ctx); err != nil {
		return err
	}
	if err := p.applyCatalog(ctx, b); err != nil {
		return p.failed(err)
	}
	p.sweep(ctx)
	p.gauge()
	return nil
}

func (p *Projector) applyCatalog(ctx context.Context, b *event.Batch) error {
	mark := p.marks[b.Stream]
	tables := map[string]*recordTable{}
	var fresh []*event.Event
	for i := range b.Messages {
		m := &b.Messages[i]
		if !(place{b.Epoch, m.Seq}).after(mark) {
			continue
		}
		if m.Seq >= 1<<32 {
			return fmt.Errorf("sequence %d of the catalogue has more than 32 bits", m.Seq)
		}
		if err := addRecord(tables, m.Event, uint64(b.Epoch)<<32|m.Seq); err != nil {
			return fmt.Errorf("sequence %d: %w", m.Seq, err)
		}
		fresh = append(fresh, m.Event)
	}
	var rows uint64
	for _, name := range catalogTables {
		if t, ok := tables[name]; ok {
			if err := p.write(ctx, name, question("insert_"+name), nil, t.in); err != nil {
				return err
			}
			rows += uint64(t.rows)
		}
	}
	for _, e := range fresh {
		p.note(e)
	}
	p.loading = b.Pending > 0
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

// note takes what scopes are made of.
func (p *Projector) note(e *event.Event) {
	switch d := e.Data.(type) {
	case *contracts.Mandate:
		p.packages[uint64(d.MandateID)] = d.Package.MaxItems
		p.dirty[uint64(d.MandateID)] = struct{}{}
	case *contracts.Order:
		p.noteOrder(d)
	}
}

func (p *Projector) noteOrder(o *contracts.Order) {
	m := uint64(o.MandateID)
	if p.orders[m] == nil {
		p.orders[m] = map[uint64]*contracts.Order{}
	}
	// Only what a scope needs, so that the rest is let go.
	p.orders[m][uint64(o.OrderID)] = &contracts.Order{
		OrderID: o.OrderID, MandateID: o.MandateID, Active: o.Active,
		CreatedAt: time.UnixMilli(o.CreatedAt.UnixMilli()), // as the table keeps it
		Items:     o.Items, Sites: o.Sites,
	}
	p.dirty[m] = struct{}{}
}

// loadCatalog reads what scopes are made of back from the tables.
func (p *Projector) loadCatalog(ctx context.Context) error {
	p.orders, p.packages, p.dirty = map[uint64]map[uint64]*contracts.Order{}, map[uint64]int{}, map[uint64]struct{}{}
	var (
		mandate, maximum, order proto.ColUInt64
		created                 proto.ColInt64
		active                  proto.ColBool
		items                   = new(proto.ColUInt64).Array()
		sites                   = new(proto.ColStr).Array()
	)
	err := p.read(ctx, "packages", nil, proto.Results{{Name: "mandate", Data: &mandate}, {Name: "max_items", Data: &maximum}}, func() error {
		for i := range mandate {
			p.packages[mandate[i]] = int(maximum[i])
			p.dirty[mandate[i]] = struct{}{}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.read(ctx, "orders", nil, proto.Results{
		{Name: "mandate", Data: &mandate},
		{Name: "order_id", Data: &order},
		{Name: "active", Data: &active},
		{Name: "created_ms", Data: &created},
		{Name: "items", Data: items},
		{Name: "sites", Data: sites},
	}, func() error {
		for i := range mandate {
			o := &contracts.Order{
				OrderID: contracts.OrderID(order[i]), MandateID: contracts.MandateID(mandate[i]), Active: active[i],
				CreatedAt: time.UnixMilli(created[i]),
			}
			for _, id := range items.Row(i) {
				o.Items = append(o.Items, contracts.ItemID(id))
			}
			for _, s := range sites.Row(i) {
				o.Sites = append(o.Sites, contracts.SiteKey(s))
			}
			p.noteOrder(o)
		}
		return nil
	})
}

// wanted is the scope that the mandate's orders give it now. A mandate that
// is not known yet has none.
func (p *Projector) wanted(mandate uint64) scope {
	maximum, ok := p.packages[mandate]
	if !ok {
		return scope{}
	}
	list := make([]*contracts.Order, 0, len(p.orders[mandate]))
	for _, o := range p.orders[mandate] {
		list = append(list, o)
	}
	return scopeOf(list, maximum, p.sites)
}

// touched gives the mandates whose scope is to be looked at, in order.
func (p *Projector) touched() []uint64 {
	list := make([]uint64, 0, len(p.dirty))
	for m := range p.dirty {
		list = append(list, m)
	}
	slices.Sort(list)
	return list
}

package projector

import (
	"fmt"

	"preismon/contracts"
	"preismon/contracts/event"
)

// admit checks that the orders and mandates among the records stay within their
// maximum number of pairs, and that accounts do not take a login of another
// account. It returns *event.Rejected for the first that does not. A record
// that has as many pairs as before, or fewer, is always accepted, and so is one
// that a table already holds: records are checked in the order of the stream,
// also when a batch is delivered again.
func (p *Projector) admit(records []*event.Message, epoch uint32) error {
	a := admission{p: p, orders: map[uint64]map[uint64]*order{}, packages: map[uint64]itemPackage{}, accounts: map[uint64]holder{}, logins: map[string]uint64{}}
	for _, m := range records {
		reason := ""
		switch d := m.Event.Data.(type) {
		case *contracts.Order:
			reason = a.order(d, versionOf(epoch, m.Seq))
		case *contracts.Mandate:
			reason = a.mandate(d, versionOf(epoch, m.Seq))
		case *contracts.Account:
			reason = a.account(d, versionOf(epoch, m.Seq))
		}
		if reason != "" {
			return &event.Rejected{Seq: m.Seq, Reason: reason}
		}
	}
	return nil
}

// admission is what the catalogue would be after the records so far.
type admission struct {
	p        *Projector
	orders   map[uint64]map[uint64]*order // changed ones, by mandate
	packages map[uint64]itemPackage       // changed ones
	accounts map[uint64]holder            // changed ones
	logins   map[string]uint64            // the account among them that took it last
}

func (a *admission) order(d *contracts.Order, version uint64) (reason string) {
	m, id := uint64(d.MandateID), uint64(d.OrderID)
	if old := a.p.orders[m][id]; old != nil && old.version >= version {
		return ""
	}
	o := newOrder(d, a.p.sites, version)
	before := a.pairs(m)
	old := a.known(m, id)
	if a.orders[m] == nil {
		a.orders[m] = map[uint64]*order{}
	}
	a.orders[m][id] = o
	most := uint64(a.p.cfg.MaxOrderPairs)
	if n := o.pairs(); n > most && (old == nil || n > old.pairs()) {
		return fmt.Sprintf("items, sites: %d items at %d sites are %d pairs, at most %d in an order", len(o.items), len(o.sites), n, most)
	}
	if n := a.pairs(m); n > before && n > uint64(a.p.cfg.MaxMandatePairs) {
		return fmt.Sprintf("items, sites: with this order the active orders of mandate %d give %d pairs, at most %d", m, n, a.p.cfg.MaxMandatePairs)
	}
	return ""
}

func (a *admission) mandate(d *contracts.Mandate, version uint64) (reason string) {
	m := uint64(d.MandateID)
	if a.p.packages[m].version >= version {
		return ""
	}
	before := a.pairs(m)
	a.packages[m] = itemPackage{d.Package.MaxItems, version}
	if n := a.pairs(m); n > before && n > uint64(a.p.cfg.MaxMandatePairs) {
		return fmt.Sprintf("package.maxItems: with %d items the active orders of mandate %d give %d pairs, at most %d", d.Package.MaxItems, m, n, a.p.cfg.MaxMandatePairs)
	}
	return ""
}

func (a *admission) known(m, id uint64) *order {
	if o, ok := a.orders[m][id]; ok {
		return o
	}
	return a.p.orders[m][id]
}

// pairs returns an upper bound for the mandate's number of pairs: those of each
// active order, with no more items than its package allows. A pair that two
// orders share is stored with both, and counts twice. For a mandate that is not
// known yet, all items count.
func (a *admission) pairs(m uint64) (n uint64) {
	held, ok := a.packages[m]
	if !ok {
		held, ok = a.p.packages[m]
	}
	add := func(o *order) {
		items := len(o.items)
		if ok {
			items = min(items, held.maxItems)
		}
		n += uint64(items) * uint64(len(o.sites))
	}
	for id, o := range a.p.orders[m] {
		if _, changed := a.orders[m][id]; !changed {
			add(o)
		}
	}
	for _, o := range a.orders[m] {
		add(o)
	}
	return n
}

// pairs returns the order's number of pairs, whatever the mandate's package.
func (o *order) pairs() uint64 { return uint64(len(o.items)) * uint64(len(o.sites)) }

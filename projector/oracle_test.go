package projector_test

import (
	"cmp"
	"slices"

	_ "github.com/ClickHouse/clickhouse-go/v2" // reads back what ch-go wrote

	"preismon/contracts"
	"preismon/contracts/event"
)

// oracle computes what the tables must hold, the plain way.
type oracle struct {
	events   map[string]event.Message // by id: the first in the stream
	epochs   map[string]uint32        // of the events, by id
	orders   map[[2]uint64]*contracts.Order
	packages map[uint64]int
	floor    int64 // ms; captures before it are in no table
}

func newOracle() *oracle {
	return &oracle{events: map[string]event.Message{}, epochs: map[string]uint32{}, orders: map[[2]uint64]*contracts.Order{}, packages: map[uint64]int{}}
}

func (o *oracle) observe(b *event.Batch) {
	for _, m := range b.Messages {
		id := m.Event.ID
		if old, ok := o.events[id]; !ok || cmp.Or(cmp.Compare(b.Epoch, o.epochs[id]), cmp.Compare(m.Seq, old.Seq)) < 0 {
			o.events[id], o.epochs[id] = m, b.Epoch
		}
	}
}

func (o *oracle) learn(b *event.Batch) {
	for _, m := range b.Messages {
		switch d := m.Event.Data.(type) {
		case *contracts.Order:
			o.orders[[2]uint64{uint64(d.MandateID), uint64(d.OrderID)}] = d
		case *contracts.Mandate:
			o.packages[uint64(d.MandateID)] = d.Package.MaxItems
		}
	}
}

func (o *oracle) rows() map[key]row {
	out := map[key]row{}
	for id, m := range o.events {
		b := m.Event.Data.(*contracts.Observations)
		for c, obs := range b.Observations {
			if obs.CapturedAt.UnixMilli() < o.floor {
				continue
			}
			offers := obs.Offers
			if len(offers) == 0 {
				offers = []contracts.Offer{{}}
			}
			for i, of := range offers {
				r := row{
					Item: uint64(obs.ItemID), Site: string(b.Site), At: obs.CapturedAt.UnixMilli(), Outcome: obs.Outcome.String(),
					Currency: string(of.CurrencyCode), Price: -1, Shipping: -1, Merchant: of.Merchant, Prime: uint8(of.IsPrime),
					BuyBox: uint8(of.IsBuyBox), Rating: of.Rating.Tenths(), Manufacturer: of.Manufacturer, Title: of.Title,
					URL: of.URL, Delivery: of.DeliveryText, Copies: 1,
				}
				if of.Price != nil {
					r.Price = *of.Price
				}
				if of.Shipping != nil {
					r.Shipping = *of.Shipping
				}
				out[key{0, o.epochs[id], m.Seq, uint16(c), uint16(i)}] = r
			}
		}
	}
	return out
}

func (o *oracle) scopes() map[uint64]map[mandatePair][]uint64 {
	out := map[uint64]map[mandatePair][]uint64{}
	for m, maximum := range o.packages {
		var list []*contracts.Order
		for k, ord := range o.orders {
			if k[0] == m && ord.Active {
				list = append(list, ord)
			}
		}
		slices.SortFunc(list, func(a, b *contracts.Order) int {
			return cmp.Or(cmp.Compare(a.CreatedAt.UnixMilli(), b.CreatedAt.UnixMilli()), cmp.Compare(a.OrderID, b.OrderID))
		})
		var kept []contracts.ItemID
		for _, ord := range list {
			for _, item := range ord.Items {
				if !slices.Contains(kept, item) && len(kept) < maximum {
					kept = append(kept, item)
				}
			}
		}
		scope := map[mandatePair][]uint64{}
		for _, ord := range list {
			for _, item := range ord.Items {
				for _, site := range ord.Sites {
					k := mandatePair{uint64(item), string(site)}
					if slices.Contains(kept, item) && !slices.Contains(scope[k], uint64(ord.OrderID)) {
						scope[k] = append(scope[k], uint64(ord.OrderID))
						slices.Sort(scope[k])
					}
				}
			}
		}
		if len(scope) > 0 {
			out[m] = scope
		}
	}
	return out
}

func (o *oracle) mandateRows() map[key]row {
	out := map[key]row{}
	scopes := o.scopes()
	for k, r := range o.rows() {
		for m, s := range scopes {
			if _, ok := s[mandatePair{r.Item, r.Site}]; ok {
				k.Mandate = m
				out[k] = r
			}
		}
	}
	return out
}

func (o *oracle) latest() map[key]row {
	type capture struct {
		at  int64
		key key
	}
	newest := map[mandatePair]capture{}
	rows := o.rows()
	for k, r := range rows {
		c := capture{r.At, key{0, k.Epoch, k.Seq, k.Capture, 0}}
		old, ok := newest[mandatePair{r.Item, r.Site}]
		if !ok || cmp.Or(cmp.Compare(c.at, old.at), cmp.Compare(c.key.Epoch, old.key.Epoch), cmp.Compare(c.key.Seq, old.key.Seq), cmp.Compare(c.key.Capture, old.key.Capture)) > 0 {
			newest[mandatePair{r.Item, r.Site}] = c
		}
	}
	out := map[key]row{}
	for k, r := range rows {
		c := newest[mandatePair{r.Item, r.Site}].key
		if c.Epoch == k.Epoch && c.Seq == k.Seq && c.Capture == k.Capture {
			out[k] = r
		}
	}
	return out
}

func (o *oracle) ingested() map[string]ingested {
	out := map[string]ingested{}
	for id, m := range o.events {
		b := m.Event.Data.(*contracts.Observations)
		e := ingested{Seq: m.Seq, Captures: uint16(len(b.Observations)), Copies: 1}
		for _, obs := range b.Observations {
			e.Rows += uint32(obs.Rows())
		}
		out[id] = e
	}
	return out
}

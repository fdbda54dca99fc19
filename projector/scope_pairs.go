package projector

import (
	"context"
	"io"
	"strconv"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/cespare/xxhash/v2"

	"preismon/projector/clickhouse"
)

// pairBlock is how many pairs, and orders of pairs, are sent in one block: a
// scope is never expanded into all of its pairs at once.
const pairBlock = 1 << 16

// writeScope writes the pairs of a new version that is not in force yet. A
// version number is used only once, even when the write fails.
func (p *Projector) writeScope(ctx context.Context, m uint64, v *view, s scope) (version uint64, err error) {
	p.nextVersion(v)
	if len(s.items) == 0 {
		return v.newest, nil
	}
	var (
		item   proto.ColUInt64
		site   = newDict()
		orders proto.ColUInt64
		ends   proto.ColUInt64
		n, k   int // the next pair: its item, and the place of its site
	)
	return v.newest, p.insert(ctx, "scope_pairs", args{"mandate": m, "version": v.newest}, proto.Input{
		{Name: "item", Data: &item}, {Name: "site", Data: site}, {Name: "orders", Data: array{&ends, &orders}},
	}, func(context.Context) error {
		item, orders, ends = item[:0], orders[:0], ends[:0]
		site.Reset()
		if n == len(s.items) {
			return io.EOF
		}
		for n < len(s.items) {
			set := s.sets[s.kinds[n]]
			for ; k < len(set.sites); k++ {
				if len(item) == pairBlock || len(orders) >= pairBlock {
					return nil
				}
				item.Append(s.items[n])
				site.Append(p.sites.key[set.sites[k]])
				orders = append(orders, s.orders[set.orders[k]]...)
				ends.Append(uint64(len(orders)))
			}
			n, k = n+1, 0
		}
		return nil
	})
}

// digest identifies a set of pairs: their number, and the sum of their hashes.
type digest struct{ n, sum uint64 }

// digest returns what scope_digests.sql returns for the same pairs.
func (s scope) digest(names *sites) (d digest) {
	tails := make([][]byte, len(s.orders)) // a pair's orders, in the form that is hashed
	for i, ids := range s.orders {
		for _, id := range ids {
			tails[i] = strconv.AppendUint(append(tails[i], ' '), id, 10)
		}
		tails[i] = append(tails[i], ' ')
	}
	var text []byte
	for i, item := range s.items {
		set := s.sets[s.kinds[i]]
		for k, site := range set.sites {
			text = strconv.AppendUint(text[:0], item, 10)
			text = append(text, tails[set.orders[k]]...)
			text = append(text, names.key[site]...)
			d.n++
			d.sum += xxhash.Sum64(text)
		}
	}
	return d
}

// loadScopes loads the scopes in force. Most are what the orders give, as a
// digest shows; the others are read.
func (p *Projector) loadScopes(ctx context.Context) error {
	var mandate uint64
	var d digest
	published := map[uint64]digest{}
	err := p.read(ctx, "scope_digests", nil, clickhouse.Row{"mandate": &mandate, "n": &d.n, "sum": &d.sum}, func() { published[mandate] = d })
	if err != nil {
		return err
	}
	for m, v := range p.views {
		if v.version == 0 {
			continue
		}
		if v.scope = p.wanted(m); v.scope.digest(p.sites) == published[m] {
			continue
		}
		if v.scope, err = p.readScope(ctx, m, v.version); err != nil {
			return err
		}
	}
	return nil
}

// readScope reads a published version, item by item.
func (p *Projector) readScope(ctx context.Context, mandate, version uint64) (scope, error) {
	var (
		item, last uint64
		site       string
		orders     []uint64
		b          = newScopeBuilder()
		pairs      = map[uint32][]uint64{} // of the last item
	)
	err := p.read(ctx, "scope_pairs", args{"mandate": mandate, "version": version}, clickhouse.Row{"item": &item, "site": &site, "orders": &orders}, func() {
		if item != last {
			b.add(last, pairs)
			last = item
			clear(pairs)
		}
		pairs[p.sites.of(site)] = orders
	})
	b.add(last, pairs)
	return b.scope, err
}

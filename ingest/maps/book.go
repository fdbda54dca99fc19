package maps

import (
	"strings"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
)

// site is a site in the file.
type site struct {
	contracts.Site
	index    int
	listed   bool           // its facts are in the mapping's sites, not those of all
	zone     *time.Location // zone to assume; nil: none
	products map[string]*product
	pairs    map[contracts.ItemID]*pair
	rows     int
	obs      int
	earliest int64
}

// product is what a site calls a product, by all of its keys.
type product struct {
	*pair
	key     string
	name    string
	renamed bool
	counted bool
}

// pair is one item at one site.
type pair struct {
	site *site
	item *item
	// The captures seen so far span min to max. A row outside the span begins a
	// new capture, and a row immediately after one of the same capture
	// continues it. Any other row may belong to an earlier capture: the pair is
	// then loose, and its rows are sorted.
	min, max int64
	loose    bool
	rows     int
	bytes    int // of the texts of the rows
}

// item is a product of the catalogue.
type item struct {
	contracts.Item
	index                    int
	nameAt, brandAt, makerAt int64
	rows                     int  // accepted ones, of all sites
	ownKey                   bool // known only by its site's key
	forms                    bool // its EAN is written in several lengths
}

// book holds what is known about sites, products and items.
type book struct {
	m        *Mapping
	at       string // the capture time of all rows; empty: it is in a column
	latest   int64
	earliest int64
	sites    map[string]*site // by the value in the column
	byKey    map[contracts.SiteKey]*site
	ordered  []*site
	items    map[contracts.ItemID]*item
	list     []*item
	tally    *tally // nil: count nothing

	lastSite    *site
	lastValue   string
	lastKeys    [5]string
	lastProduct *product
	prev        group // of the previous row, while learning

	products   int
	first, end int64
	currencies map[contracts.Currency]int
}

// has reports whether an accepted row is about an item.
func (b *book) has(id contracts.ItemID) bool {
	it := b.items[id]
	return it != nil && it.rows > 0
}

// group is one capture of one item at one site.
type group struct {
	pair *pair
	ms   int64
}

func newBook(m *Mapping, now time.Time, t *tally) *book {
	return &book{
		m: m, tally: t,
		earliest: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
		latest:   now.Add(event.MaxClockLead).UnixMilli(),
		sites:    map[string]*site{}, byKey: map[contracts.SiteKey]*site{},
		items: map[contracts.ItemID]*item{}, currencies: map[contracts.Currency]int{},
	}
}

// learn records what an accepted row says about its item, its pair and the
// file.
func (b *book) learn(r *row) {
	p, s, it := r.product.pair, r.product.site, r.product.item
	g := group{p, r.ms}
	switch {
	case p.rows == 0:
		p.min, p.max = r.ms, r.ms
	case g == b.prev:
	case r.ms > p.max:
		p.max = r.ms
	case r.ms < p.min:
		p.min = r.ms
	default:
		p.loose = true
	}
	b.prev = g
	p.rows++
	for _, text := range r.texts() {
		p.bytes += len(*text)
	}
	s.rows++
	it.rows++
	if !r.product.counted {
		r.product.counted = true
		b.products++
	}
	if s.earliest == 0 || r.ms < s.earliest {
		s.earliest = r.ms
	}
	if b.first == 0 || r.ms < b.first {
		b.first = r.ms
	}
	b.end = max(b.end, r.ms)
	if r.price >= 0 || r.shipping >= 0 {
		b.currencies[r.currency]++
	}

	if known := r.product; r.name != "" && r.name != known.name {
		if known.name != "" && !known.renamed {
			known.renamed = true
			(&rowWarnings{t: b.tally, line: r.line}).add(renamed)
		}
		known.name = strings.Clone(r.name)
	}
	keep := func(field *string, at *int64, v string) {
		if v == "" || r.ms < *at {
			return
		}
		*at = r.ms
		if *field != v {
			*field = strings.Clone(v)
		}
	}
	keep(&it.Name, &it.nameAt, r.name)
	keep(&it.Brand, &it.brandAt, r.brand)
	keep(&it.Manufacturer, &it.makerAt, r.maker)
}

// rounds returns how many rows are to be sorted, and in how many rounds if so
// many are held at once (see rowsInMemory).
func (b *book) rounds(limit int) (loose, rounds int) {
	size := 0
	for _, s := range b.ordered {
		for _, p := range s.pairs {
			if p.loose {
				loose += p.rows
				size += p.bytes
			}
		}
	}
	return loose, max(1, (loose+limit-1)/limit, (size+bytesInMemory-1)/bytesInMemory)
}

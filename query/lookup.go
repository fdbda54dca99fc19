package query

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Bounds of a lookup.
const (
	MaxLookups = 10_000
	// maxLookupPairs allows for 10,000 products at 10 sites.
	maxLookupPairs = 100_000
	lookupRow      = 400 // approximate bytes per pair
	lookupEntry    = 300 // and per identifier
)

// LookupKey is one identifier of a product: exactly one kind is set.
type LookupKey struct {
	EAN        string           `json:"ean,omitempty"`
	PZN        string           `json:"pzn,omitempty"`
	ASIN       string           `json:"asin,omitempty"`
	ASINLocale string           `json:"asinLocale,omitempty"`
	ItemID     contracts.ItemID `json:"itemId,omitempty"`
}

// LookupRequest requests many products at once.
type LookupRequest struct {
	Keys     []LookupKey // in the order of the answer
	Timezone string
}

// ItemNames are identifiers of any items.
type ItemNames struct {
	EANs, PZNs []string    // EANs in every form that may be stored
	ASINs      [][2]string // with their locales
	Items      []contracts.ItemID
}

// Lookup reports for each identifier, in the order requested, whether it names
// an item that the caller sees, and what was last observed of it.
type Lookup struct {
	// Entries are the JSON objects of the identifiers, separated by commas, in
	// pieces that are valid until Release: one row may appear in several.
	Entries [][]byte
	Query   LookupEcho

	held func()
}

// LookupEcho counts what an answer covers: all identifiers, or it is refused.
type LookupEcho struct {
	Asked    int    `json:"asked"`
	Known    int    `json:"known"`
	Seen     int    `json:"seen"`
	Timezone string `json:"timezone"`
}

// Release returns the room.
func (l *Lookup) Release() {
	if l.held != nil {
		l.held()
	}
	*l = Lookup{}
}

// Lookup answers with latestPerPair of all items that are named, and is
// admitted like it, but for up to maxLookupPairs pairs.
func (s *Service) Lookup(ctx context.Context, p Principal, r LookupRequest) (answer *Lookup, err error) {
	if n := len(r.Keys); n < 1 || n > MaxLookups {
		return nil, invalid("The body names %d identifiers, 1 to %d are allowed.", n, MaxLookups)
	}
	plan, err := s.plan(p, ResultsRequest{Timezone: r.Timezone, LatestPerPair: true})
	if err != nil {
		return nil, err
	}
	plan.mostPairs = maxLookupPairs
	ctx, end := s.bounded(ctx, capturedBounds, &err)
	defer end()
	a, err := s.authorize(ctx, p)
	if err != nil {
		return nil, err
	}
	named := newNamed(nil)
	if !a.Visibility.Nothing() {
		items, err := s.store.ItemsNamed(ctx, a.Visibility, namesOf(r.Keys))
		if err != nil {
			return nil, err
		}
		named = newNamed(items)
	}
	plan.query.Selectors.Items = ItemsOf(named.ids)
	in, err := s.admit(ctx, plan, a.Visibility, a.Watermark)
	if err != nil {
		return nil, err
	}
	if e := explaining(ctx); e != nil {
		return nil, s.explainLookup(ctx, e, in, r.Keys, named)
	}
	_, held, err := s.charge(ctx, pageBlocks+int64(in.size.Pairs)*lookupRow+int64(len(r.Keys))*lookupEntry)
	if err != nil {
		return nil, err
	}
	defer func() {
		if answer == nil {
			held()
		}
	}()
	rows := &lookupRows{of: map[contracts.ItemID][]lookupAt{}}
	if !in.empty && len(named.ids) > 0 {
		if err := rows.read(ctx, s.store, in); err != nil {
			return nil, err
		}
		if err := rows.noteUnobserved(ctx, s.store, a.Visibility, named.ids); err != nil {
			return nil, err
		}
	}
	if answer, err = s.lookedUp(r.Keys, named, rows); err != nil {
		return nil, err
	}
	answer.held, answer.Query.Timezone = held, plan.echo.Timezone
	return answer, nil
}

// namesOf groups the identifiers by kind.
func namesOf(keys []LookupKey) (n ItemNames) {
	for _, k := range keys {
		switch {
		case k.EAN != "":
			n.EANs = append(n.EANs, contracts.EANForms(k.EAN)...)
		case k.PZN != "":
			n.PZNs = append(n.PZNs, k.PZN)
		case k.ASIN != "":
			n.ASINs = append(n.ASINs, [2]string{k.ASIN, k.ASINLocale})
		default:
			n.Items = append(n.Items, k.ItemID)
		}
	}
	return n
}

// named finds items by their identifiers.
type named struct {
	ids []contracts.ItemID // ascending
	by  map[LookupKey][]contracts.ItemID
}

func newNamed(items []contracts.Item) named {
	n := named{ids: []contracts.ItemID{}, by: map[LookupKey][]contracts.ItemID{}}
	for _, i := range items {
		n.ids = append(n.ids, i.ItemID)
		for _, k := range []LookupKey{{ItemID: i.ItemID}, {EAN: i.EAN}, {PZN: i.PZN}, {ASIN: i.ASIN, ASINLocale: i.ASINLocale}} {
			if k != (LookupKey{ASINLocale: k.ASINLocale}) {
				n.by[k] = append(n.by[k], i.ItemID)
			}
		}
	}
	return n
}

// of returns the items that a key names, ascending.
func (n named) of(k LookupKey) []contracts.ItemID {
	if k.EAN == "" {
		return n.by[k]
	}
	var all []contracts.ItemID
	for _, form := range contracts.EANForms(k.EAN) {
		all = append(all, n.by[LookupKey{EAN: form}]...)
	}
	slices.Sort(all)
	return all
}

// lookupRows holds the newest rows of the pairs of some items as JSON, and the
// pairs without any.
type lookupRows struct {
	buf        []byte
	of         map[contracts.ItemID][]lookupAt
	unobserved map[contracts.ItemID][]lookupPair // by site
}

// lookupPair is a pair without any observation.
type lookupPair struct {
	Item contracts.ItemID  `json:"itemId"`
	Site contracts.SiteKey `json:"site"`
}

// lookupAt is where the row of a site is in the buffer.
type lookupAt struct {
	site     contracts.SiteKey
	from, to int
}

func (l *lookupRows) read(ctx context.Context, from Store, in *read) error {
	sites := map[string]contracts.SiteKey{} // one copy of each name
	err := from.Results(ctx, in.vis, &in.query, func(b *Block) error {
		in.encoder.begin(b)
		for k := range b.Len {
			i := b.At(k)
			at := len(l.buf)
			l.buf = in.encoder.append(l.buf, b, i)
			site, known := sites[string(b.Site.At(i))]
			if !known {
				site = contracts.SiteKey(b.Site.At(i))
				sites[string(site)] = site
			}
			item := contracts.ItemID(b.Item[i])
			l.of[item] = append(l.of[item], lookupAt{site, at, len(l.buf)})
		}
		return nil
	})
	for _, rows := range l.of {
		slices.SortFunc(rows, func(a, b lookupAt) int { return cmp.Compare(a.site, b.site) })
	}
	return err
}

// noteUnobserved finds the pairs of the items that have no row.
func (l *lookupRows) noteUnobserved(ctx context.Context, from Store, v Visibility, items []contracts.ItemID) error {
	pairs, err := from.PairOrders(ctx, v, items)
	if err != nil {
		return err
	}
	l.unobserved = map[contracts.ItemID][]lookupPair{}
	for pair := range pairs {
		_, observed := slices.BinarySearchFunc(l.of[pair.Item], pair.Site, func(at lookupAt, site contracts.SiteKey) int { return cmp.Compare(at.site, site) })
		if !observed {
			l.unobserved[pair.Item] = append(l.unobserved[pair.Item], lookupPair{pair.Item, pair.Site})
		}
	}
	for _, list := range l.unobserved {
		slices.SortFunc(list, func(a, b lookupPair) int { return cmp.Compare(a.Site, b.Site) })
	}
	return nil
}

// lookedUp writes the entries.
func (s *Service) lookedUp(keys []LookupKey, n named, rows *lookupRows) (*Lookup, error) {
	answer := &Lookup{Query: LookupEcho{Asked: len(keys)}}
	size := 0
	for i, k := range keys {
		items := n.of(k)
		var latest [][]byte
		unobserved := []lookupPair{}
		for _, item := range items {
			unobserved = append(unobserved, rows.unobserved[item]...)
			for _, at := range rows.of[item] {
				if latest != nil {
					latest = append(latest, comma)
				}
				latest = append(latest, rows.buf[at.from:at.to])
				size += at.to - at.from + 1
			}
		}
		head, err := json.Marshal(lookupHead{k, len(items) > 0, latest != nil, append([]contracts.ItemID{}, items...), unobserved})
		if err != nil {
			return nil, err
		}
		if len(items) > 0 {
			answer.Query.Known++
		}
		if latest != nil {
			answer.Query.Seen++
		}
		if i > 0 {
			answer.Entries = append(answer.Entries, comma)
		}
		head = append(head[:len(head)-1], `,"latest":[`...)
		answer.Entries = append(append(append(answer.Entries, head), latest...), lookupEnd)
		if size += len(head) + len(lookupEnd) + 1; size > s.cfg.MaxResponseBytes {
			return nil, fault.New(fault.Invalid, CodeResponseTooLarge, "The complete response would be larger than %d bytes. Name fewer products.", s.cfg.MaxResponseBytes)
		}
	}
	return answer, nil
}

var comma, lookupEnd = []byte{','}, []byte("]}")

// lookupHead is an entry without its rows.
type lookupHead struct {
	Asked LookupKey          `json:"asked"`
	Known bool               `json:"known"`
	Seen  bool               `json:"seen"`
	Items []contracts.ItemID `json:"items"`

	NoResult []lookupPair `json:"noResult"`
}

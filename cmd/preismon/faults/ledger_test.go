package faults_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/query/auth"
)

// The small world: two mandates that see some pairs each, some of these in
// common.
var (
	sites  = []contracts.SiteKey{"shop-a", "shop-b", "shop-c"}
	scopes = map[uint64]struct {
		first, last contracts.ItemID
		sites       []contracts.SiteKey
	}{1: {1, 10, sites[:2]}, 2: {6, 16, sites[1:]}}
)

const (
	items    = 20 // no mandate sees some of them
	password = "a word for the tests"
)

func login(mandate uint64) string { return fmt.Sprintf("reader@mandate-%d.example", mandate) }

// sees reports whether a mandate always sees the rows of a pair.
func sees(mandate uint64, f *fact) bool {
	s := scopes[mandate]
	return f.item >= s.first && f.item <= s.last && inScope(s.sites, f.site)
}

func inScope(sites []contracts.SiteKey, site contracts.SiteKey) bool {
	return slices.Contains(sites, site)
}

// catalog is the master data of the world.
func catalog() ([]*event.Event, error) {
	hash, err := cheapHash()
	if err != nil {
		return nil, err
	}
	var all []*event.Event
	rnd := rand.New(rand.NewPCG(1, 99))
	add := func(k event.Kind, d event.Payload) { all = append(all, record(rnd, k, d)) }
	for _, s := range sites {
		add(event.KindSite, &contracts.Site{Site: s, Name: "Shop", SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR"})
	}
	for i := range contracts.ItemID(items) {
		add(event.KindItem, &contracts.Item{ItemID: i + 1, Name: fmt.Sprint("item ", i+1)})
	}
	for m := range scopes {
		add(event.KindMandate, &contracts.Mandate{MandateID: contracts.MandateID(m), Name: fmt.Sprint("mandate ", m), Package: contracts.Package{Name: "p", MaxItems: 100}})
		add(event.KindAccount, &contracts.Account{
			AccountID: contracts.AccountID(m), MandateID: contracts.MandateID(m), LoginIdentifier: login(m), PasswordHash: hash,
			Permissions: contracts.Permissions(), Scope: contracts.AccountScope{AllOrders: true, AllSites: true},
		})
		add(event.KindOrder, orderOf(m, false))
	}
	return all, nil
}

// cheapHash is the hash of everyone's password, with a low cost.
func cheapHash() (string, error) {
	cfg := auth.Defaults()
	cfg.Hash.Memory, cfg.Hash.Iterations = 8<<10, 1
	return cfg.HashPassword(password)
}

// record builds an event of the catalogue.
func record(rnd *rand.Rand, k event.Kind, d event.Payload) *event.Event {
	return &event.Event{ID: newID(rnd), Kind: k, Producer: "faults", ProducedAt: time.Now(), Data: d}
}

func newID(r *rand.Rand) string {
	var id [16]byte
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	h := hex.EncodeToString(id[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// fact is one row that an event adds. Its price identifies it: no other row has
// the same.
type fact struct {
	event    int
	item     contracts.ItemID
	site     contracts.SiteKey
	at       int64 // Unix ms, unique to the capture
	price    int64
	merchant string
	offers   int // of its capture
}

// ledger is what producers know: what they sent, and what was acknowledged. An
// event enters it before it is sent.
type ledger struct {
	mu     sync.Mutex
	rnd    *rand.Rand
	clock  int64 // of the last capture, Unix ms
	events []*event.Event
	acked  int // of the events, in order
	facts  map[int64]*fact
	rows   []*fact // by price, which is the index + 1
	poison int     // messages sent and acknowledged that are not events
}

func newLedger(seed uint64) *ledger {
	return &ledger{rnd: rand.New(rand.NewPCG(seed, 7)), clock: time.Now().Add(-30 * time.Hour).UnixMilli(), facts: map[int64]*fact{}}
}

// next builds an event and records its rows.
func (l *ledger) next() *event.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	site := sites[l.rnd.IntN(len(sites))]
	batch := &contracts.Observations{Site: site}
	for range 1 + l.rnd.IntN(6) {
		l.clock++
		o := contracts.Observation{ItemID: contracts.ItemID(1 + l.rnd.IntN(items)), CapturedAt: time.UnixMilli(l.clock), Outcome: contracts.PriceObserved}
		n := 1 + l.rnd.IntN(3)
		for range n {
			f := &fact{event: len(l.events), item: o.ItemID, site: site, at: l.clock, price: int64(len(l.rows) + 1), merchant: fmt.Sprint("merchant ", l.rnd.IntN(5)), offers: n}
			l.rows = append(l.rows, f)
			l.facts[f.price] = f
			o.Offers = append(o.Offers, contracts.Offer{Merchant: f.merchant, Price: &f.price, CurrencyCode: "EUR"})
		}
		batch.Observations = append(batch.Observations, o)
	}
	e := &event.Event{ID: newID(l.rnd), Kind: event.KindObservations, Producer: "faults", ProducedAt: time.Now(), Data: batch}
	l.events = append(l.events, e)
	return e
}

// mark is a moment: captures after it are later.
func (l *ledger) mark() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clock + 1
}

// due returns the rows of acknowledged events captured since a moment that a
// mandate sees; 0: all rows.
func (l *ledger) due(mandate uint64, since int64) map[int64]*fact {
	return l.acknowledged(since, func(f *fact) bool { return mandate == 0 || sees(mandate, f) })
}

// extra returns those of the pairs that are granted to a mandate now and then.
func (l *ledger) extra(mandate uint64, since int64) map[int64]*fact {
	return l.acknowledged(since, func(f *fact) bool { return mayGet(mandate, f) })
}

func (l *ledger) acknowledged(since int64, of func(*fact) bool) map[int64]*fact {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[int64]*fact{}
	for i := len(l.rows) - 1; i >= 0 && l.rows[i].at >= since; i-- {
		if f := l.rows[i]; f.event < l.acked && of(f) {
			all[f.price] = f
		}
	}
	return all
}

// known finds a row by its price; nil: it was never sent.
func (l *ledger) known(price int64) *fact {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.facts[price]
}

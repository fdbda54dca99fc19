// Package market is a simulated market: shops, country markets of a
// marketplace, price comparison platforms, pharmacies and their customers, all
// invented, and marked as such in every name, title and address they show.
//
// The demo publishes it, and tests and the benchmark use it. Everything it
// returns is a pure function of its seed, its scale and the time requested: the
// same captures, byte for byte and with the same event ids, wherever a range
// starts, so that publishing twice duplicates nothing. Every event it returns
// is valid. It keeps no state, and makes no claim about real markets.
package market

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
)

// Producer is the market's name in its events.
const Producer = "preismon-demo-market (simulated)"

// DefaultDays is how many days the market reaches back without a Start.
const DefaultDays = 14

// Config describes the market.
type Config struct {
	Seed uint64
	// Now is the end of the market: orders are in their state at Now, and the
	// newest archived files are older. Required.
	Now time.Time
	// Start bounds the archived files: none is older; zero: DefaultDays before
	// Now. It does not bound the ranges passed to Observations.
	Start time.Time
	// Scale multiplies items and mandates; zero: 1, which results in about one
	// million rows in DefaultDays.
	Scale float64
	// LiveRate is how many captures per second Live adds to those of the crawl
	// runs; zero: 2, negative: none.
	LiveRate int
}

func (c *Config) setDefaults() {
	c.Now = c.Now.UTC().Truncate(time.Second)
	if c.Start.IsZero() {
		c.Start = c.Now.AddDate(0, 0, -DefaultDays)
	}
	c.Start = c.Start.UTC().Truncate(time.Second)
	c.Scale = cmp.Or(c.Scale, 1)
	c.LiveRate = cmp.Or(c.LiveRate, 2)
}

// firstDay and lastDay bound the times that can be requested: the market's
// customers have existed since founded, and late captures reach back a day.
var (
	founded  = time.Date(2024, 1, 1, 6, 0, 0, 0, time.UTC)
	firstDay = time.Date(2024, 1, 3, 0, 0, 0, 0, time.UTC)
	lastDay  = time.Date(2099, 12, 30, 0, 0, 0, 0, time.UTC)
)

// Validate returns every fault of the configuration.
func (c Config) Validate() error {
	c.setDefaults()
	var f contracts.Faults
	f.Check(!c.Now.Before(firstDay) && c.Now.Before(lastDay), "now: %s lies outside %s to %s",
		c.Now.Format(time.RFC3339), firstDay.Format(time.DateOnly), lastDay.Format(time.DateOnly))
	f.Check(!c.Start.Before(firstDay) && !c.Start.After(c.Now), "start: %s lies outside %s to now",
		c.Start.Format(time.RFC3339), firstDay.Format(time.DateOnly))
	f.Check(c.Scale > 0 && c.Scale <= maxScale, "scale: %g lies outside 0 to %d", c.Scale, maxScale)
	f.Check(c.LiveRate <= maxLiveRate, "live rate: %d, at most %d", c.LiveRate, maxLiveRate)
	return f.Err()
}

const (
	maxScale    = 200
	maxLiveRate = 10_000
)

// Market is a simulated market. It is safe for use by many goroutines.
type Market struct {
	cfg      Config
	sites    []site
	items    []item
	pairs    []*pair
	byID     map[contracts.ItemID]*item
	byPair   map[contracts.Pair]*pair
	away     map[contracts.Pair]*pair // watched where no site carries them
	rhythms  []rhythm
	mandates []*mandate
	orders   []*order // of all mandates, as are those below
	accounts []account
	jobs     []*job
	hashes   func() map[string]string // password hashes, by login
}

// New creates the market. It fails if the configuration is not valid.
func New(cfg Config) (*Market, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("market: %w", err)
	}
	cfg.setDefaults()
	m := &Market{cfg: cfg, sites: sites()}
	m.makeItems()
	m.makePairs()
	m.makeRhythms()
	m.makeMandates()
	m.makeAway()
	m.makeNovelties()
	m.hashes = sync.OnceValue(m.hashPasswords)
	return m, nil
}

// scaled returns n at the market's scale, at least low.
func (m *Market) scaled(n, low int) int {
	return max(low, int(math.Round(float64(n)*m.cfg.Scale)))
}

// The draws of the market. Each is a hash of the seed, the kind of the draw and
// what it is drawn for, never a stream of random numbers: so no draw depends on
// which others were made before.
type draw uint64

const (
	drawItem draw = iota + 1
	drawAssortment
	drawPair
	drawSegment
	drawPromotion
	drawWeekend
	drawMatch
	drawStock
	drawMissing
	drawAccess
	drawDown
	drawAmbiguous
	drawOffers
	drawMerchant
	drawFlags
	drawRating
	drawRun
	drawCapture
	drawChunk
	drawLive
	drawCustomer
)

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014): every bit of
// the input changes every bit of the output with probability one half.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func (m *Market) draw(d draw, a, b uint64) uint64 {
	const golden = 0x9e3779b97f4a7c15
	x := mix(m.cfg.Seed + golden*uint64(d))
	x = mix((x ^ a) + golden)
	return mix((x ^ b) + golden)
}

// chance reports whether a draw falls into the given share of ten thousand.
func chance(h uint64, of10000 uint64) bool { return (h>>32)%10_000 < of10000 }

func textKey(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

func (m *Market) seedText() string { return fmt.Sprintf("demo-market/%d", m.cfg.Seed) }

// uuidOf returns a UUID of version 8 (RFC 9562): 122 bits of ours.
func uuidOf(hi, lo uint64) string {
	var b uuid.UUID
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return b.String()
}

// record creates the event of a catalogue record. Its id is derived from its
// content: a changed record is another event, an unchanged one the same.
func (m *Market) record(kind event.Kind, at time.Time, data event.Payload) *event.Event {
	e := &event.Event{Kind: kind, Producer: Producer, ProducedAt: at.UTC(), Data: data}
	content, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("market: a %s that has no JSON form: %v", kind, err)) // records hold nothing that can fail
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%d\n", m.seedText(), e.Subject(), e.ProducedAt.UnixMilli())
	h.Write(content)
	sum := h.Sum(nil)
	e.ID = uuidOf(binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:]))
	return e
}

// Describe describes in a few lines what the market holds.
func (m *Market) Describe() string {
	var b strings.Builder
	week := m.Volume(m.cfg.Now.AddDate(0, 0, -7), m.cfg.Now)
	fmt.Fprintf(&b, "A simulated market (seed %d, scale %g): no shop, product or price in it is real.\n", m.cfg.Seed, m.cfg.Scale)
	fmt.Fprintf(&b, "%d sites, %d items, %d pairs, %d merchants; %d mandates with %d orders and %d accounts.\n",
		len(m.sites), len(m.items), len(m.pairs), len(merchants), len(m.mandates), len(m.orders), len(m.accounts))
	fmt.Fprintf(&b, "About %d rows a day in EUR, JPY and KWD; live, %d captures a second more.\n",
		week.Rows/7, max(0, m.cfg.LiveRate))
	for i := range m.sites {
		s := &m.sites[i]
		fmt.Fprintf(&b, "  %-36s %-11s %s %s  %s\n", s.Site.Site, s.SiteType, s.CountryCode, s.CurrencyCode, s.Name)
	}
	return b.String()
}

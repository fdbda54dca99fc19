package query

import (
	"math"
	"strconv"
	"time"

	"preismon/contracts"
	"preismon/query/admission"
	"preismon/query/frame"
)

// ResultsRequest asks for observations, page by page or as a stream. Field
// names are those of the public parameters; zero means not given.
type ResultsRequest struct {
	Limit  *int   `json:"-"`
	Cursor string `json:"-"`
	// AnswerBytes ends a page early, after the row with which the JSON of its
	// rows reaches so many bytes; 0: no such bound. It belongs to a page, not
	// to the question: a walk may change it from page to page, as it may its
	// limit. Streams have none.
	AnswerBytes int `json:"-"`
	// Rewritten is what stands for the JSON of a row of this page; nil: the row
	// itself.
	Rewritten Rewriter `json:"-"`
	// Summarize asks for the page's Summary. It too belongs to a page.
	Summarize bool `json:"-"`
	// Table takes the rows of a page instead of their JSON; nil: JSON.
	Table RowTable `json:"-"`
	// ChangesToken takes the token of a stream that goes on as a feed; nil: none
	// is wanted.
	ChangesToken *string `json:"-"`
	// Lines has the JSON of a page on lines, not with commas.
	Lines bool `json:"-"`

	OrderID    contracts.OrderID `json:"orderId,omitempty"`
	ItemID     contracts.ItemID  `json:"itemId,omitempty"`
	PZN        string            `json:"pzn,omitempty"`
	EAN        string            `json:"ean,omitempty"`
	ASINLocale string            `json:"asinLocale,omitempty"`
	ASIN       string            `json:"asin,omitempty"`
	Site       contracts.SiteKey `json:"site,omitempty"`

	GlobalScope bool `json:"globalScope,omitempty"`
	Filters

	CapturedFrom string `json:"capturedFrom,omitempty"` // RFC 3339 or YYYY-MM-DD
	CapturedTo   string `json:"capturedTo,omitempty"`
	Sort         string `json:"sort,omitempty"`     // asc or desc
	Timezone     string `json:"timezone,omitempty"` // IANA

	LatestPerPair            bool `json:"latestPerPair,omitempty"`
	LatestObservationPerPair bool `json:"latestObservationPerPair,omitempty"`

	Include Include `json:"include"`
}

// Rewriter rewrites the JSON of a row.
type Rewriter interface {
	// Rewrite appends what stands for the row, of which nothing may be kept.
	Rewrite(to, row []byte) ([]byte, error)
}

// RowTable takes the rows of a page.
type RowTable interface {
	// Begin begins a page; where one had begun, it starts over.
	Begin()
	// Flat tells whether it takes the columns of Flat.
	Flat() bool
	// Write takes a batch, of which nothing may be kept.
	Write(*frame.Batch) error
	// Bytes is what it holds.
	Bytes() int64
}

// meaning is the request without what is spelled in more than one way: a
// cursor holds the bounds of its window as instants.
func (r ResultsRequest) meaning() ResultsRequest {
	r.CapturedFrom, r.CapturedTo = "", ""
	r.Sort, r.Timezone = unless(r.Sort, "desc"), unless(r.Timezone, "UTC")
	return r
}

// unless is a value that is not the default.
func unless(value, byDefault string) string {
	if value == byDefault {
		return ""
	}
	return value
}

// Everything tells whether the request has no selector.
func (r *ResultsRequest) Everything() bool { return r.selectors().None() }

func (r *ResultsRequest) selectors() Selectors {
	return Selectors{Order: r.OrderID, Item: r.ItemID, EAN: r.EAN, PZN: r.PZN, ASIN: r.ASIN, ASINLocale: r.ASINLocale, Site: r.Site}
}

// Include switches the optional field groups on.
type Include struct {
	Coverage     bool `json:"coverage,omitempty"`
	OrderIDs     bool `json:"orderIds,omitempty"`
	CustomerData bool `json:"customerData,omitempty"`
	ExportFields bool `json:"exportFields,omitempty"`
	Identity     bool `json:"identity,omitempty"`
}

// Echo is what a results response says about the read it answers.
type Echo struct {
	Scope                    string  `json:"scope"` // scoped or global
	CapturedFrom             *string `json:"capturedFrom"`
	CapturedTo               *string `json:"capturedTo"`
	Timezone                 string  `json:"timezone"`
	Sort                     string  `json:"sort"`
	LatestPerPair            bool    `json:"latestPerPair"`
	LatestObservationPerPair bool    `json:"latestObservationPerPair"`
}

// Scopes of a read.
const (
	ScopeScoped = "scoped"
	ScopeGlobal = "global"
)

// Windows of the specification.
const (
	maxGlobalWindow      = 168 * time.Hour // RES-04c
	productHistoryWindow = 168 * time.Hour // RES-05a
	defaultWindow        = 24 * time.Hour  // RES-06, choices 27
)

// Limits of the specification.
const (
	maxLatestPairs      = 1_000   // RES-07a
	maxEnrichCandidates = 250_000 // RES-08
)

// Latest says which rows of a pair a read wants.
type Latest uint8

const (
	AllRows     Latest = iota
	NewestRow          // one row of each pair: the offer that stands for its newest capture (decision 025)
	NewestWhole        // all rows of each pair's newest capture
)

// Selectors narrow the scope of a read; zero: not given.
type Selectors struct {
	Order                      contracts.OrderID
	Item                       contracts.ItemID
	EAN, PZN, ASIN, ASINLocale string
	Site                       contracts.SiteKey
	Items                      ItemSet
}

// ItemSet are any of some items, as a list of their ids; empty: not given. A
// text can be compared, as selectors are.
type ItemSet string

// ItemsOf makes a set.
func ItemsOf(ids []contracts.ItemID) ItemSet {
	b := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(id), 10)
	}
	return ItemSet(append(b, ']'))
}

// Product tells whether a product is selected.
func (s Selectors) Product() bool { return s.Item != 0 || s.EAN != "" || s.PZN != "" || s.ASIN != "" }

// None tells whether nothing is selected.
func (s Selectors) None() bool { return !s.Product() && s.Order == 0 && s.Site == "" && s.Items == "" }

// ScopeSize measures a scope under selectors.
type ScopeSize struct{ Pairs, Items, Sites uint64 }

// Candidates is the number of item-site candidates, or the largest number
// where it cannot be represented (RES-08).
func (s ScopeSize) Candidates() uint64 {
	if s.Items != 0 && s.Sites > math.MaxUint64/s.Items {
		return math.MaxUint64
	}
	return s.Items * s.Sites
}

// ResultsQuery is what the store is asked: one range of rows in one order.
// Rows are ordered by capture time, then item, site, epoch, seq, capture and
// offer; ascending is the exact reverse of descending.
type ResultsQuery struct {
	Selectors Selectors
	Latest    Latest
	Window    contracts.Window // a zero end is open
	// FromNow and ToNow tell which bounds of the window follow from when the
	// request came: no two requests have the same.
	FromNow, ToNow bool
	Ascending      bool
	After          *Position // nil: from the start
	Watermark      Watermark
	Limit          int             // 0: all
	Read           *admission.Read `json:"-"` // of a stream, whose rows wait for a client; else nil

	Filters                      // without the coverage state
	Outcomes []contracts.Outcome // which stand for it; nil: any

	Export   bool // whether the columns of the export fields are needed
	Standing bool // whether those are that tell which offer stands: shipping and buy box
}

// Filtered tells whether a filter beside selectors is set.
func (q *ResultsQuery) Filtered() bool {
	return q.Filters != (Filters{}) || q.Outcomes != nil
}

// unfiltered is a query of the same pairs and time without filters, that gives
// any row of each pair that has one.
func (q *ResultsQuery) unfiltered() ResultsQuery {
	all := ResultsQuery{Selectors: q.Selectors, Window: q.Window, FromNow: q.FromNow, ToNow: q.ToNow, Watermark: q.Watermark}
	if q.Latest != AllRows && q.Window.From.IsZero() && q.Window.To.IsZero() {
		all.Latest = NewestRow // there is a table of these
	}
	return all
}

// Position is the place of a row in the order of results.
type Position struct {
	CapturedMs int64             `json:"t"`
	Item       contracts.ItemID  `json:"i"`
	Site       contracts.SiteKey `json:"k"`
	Epoch      uint32            `json:"e"`
	Seq        uint64            `json:"s"`
	Capture    uint16            `json:"c"`
	Offer      uint16            `json:"o"`
}

// resultsPlan is a request that was understood: everything in it is checked
// and every time is resolved.
type resultsPlan struct {
	query   ResultsQuery
	asked   contracts.Window // as exactly as it was written; that of query has whole milliseconds
	given   givenBounds
	limit   int
	cursor  string // empty: from the start
	zone    *time.Location
	echo    Echo
	include Include
	binding binding
	// mostPairs is how many pairs the read may have where it is of the newest
	// rows; 0: as many as latestPerPair.
	mostPairs uint64
	bounds    bounds
	floor     int64 // of the visibility of its caller
}

// bounds are the arguments that bound the captures of a read, as its refusals
// name them.
type bounds int

const (
	capturedBounds bounds = iota // capturedFrom and capturedTo: a window
	sinceBounds                  // since and until
	fixedBounds                  // none
	orderBounds                  // none, of orders and their files
)

// resultsCursor is what a cursor of results holds: the resolved window, so
// that "now" stays what it was, and the watermark, so that the walk stays on
// its snapshot.
type resultsCursor struct {
	From      int64       `json:"f"` // ms; minInt64: open
	To        int64       `json:"u"`
	Watermark Watermark   `json:"w"`
	After     Position    `json:"a"`
	Given     givenBounds `json:"g"`
	Floor     int64       `json:"l,omitempty"` // of the visibility that the walk began with
}

// givenBounds tells which bounds of its window a walk began with; the others
// follow from when it began.
type givenBounds struct {
	From bool `json:"f,omitempty"`
	To   bool `json:"u,omitempty"`
}

// coverageOutcomes maps each coverage state to what rows show (see stateOf)
// that it stands for (choices 7). A pair without a result has no row, so NO_RESULT has none.
var coverageOutcomes = map[string][]contracts.Outcome{
	"PRICE_OBSERVED":    {contracts.PriceObserved},
	"UNAVAILABLE":       {contracts.Unavailable},
	"PRODUCT_NOT_FOUND": {contracts.ProductNotFound},
	"NO_RESULT":         {},
	"UNKNOWN":           {contracts.OutcomeUnknown, contracts.AccessRestricted, contracts.SiteUnavailable},
}

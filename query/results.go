package query

import (
	"math"
	"strconv"
	"time"

	"preismon/contracts"
	"preismon/query/admission"
	"preismon/query/frame"
)

// ResultsRequest requests observations, page by page or as a stream. Field
// names are those of the public parameters; zero means not given.
type ResultsRequest struct {
	Limit  *int   `json:"-"`
	Cursor string `json:"-"`
	// AnswerBytes ends a page early, after the row with which the JSON of its
	// rows reaches so many bytes; 0: no such bound. It belongs to a page, not
	// to the query: a walk may change it from page to page, like its limit.
	// Streams have none.
	AnswerBytes int `json:"-"`
	// Fields makes the JSON of each row of this page an array of these fields:
	// "a", or "a.b" for the member b of the object a; null where a row has none.
	// nil: rows are objects.
	Fields *[]string `json:"-"`
	// Summarize requests the page's Summary. It too belongs to a page.
	Summarize bool `json:"-"`
	// Table receives the rows of a page instead of their JSON; nil: JSON.
	Table RowTable `json:"-"`
	// ChangesToken receives the token of a stream that continues as a feed;
	// nil: none is requested.
	ChangesToken *string `json:"-"`
	// Condition makes a stream conditional; nil: it is not.
	Condition *Condition `json:"-"`
	// Lines: the JSON of the rows is separated by newlines, not by commas.
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

// RowTable receives the rows of a page.
type RowTable interface {
	// Begin begins a page with these columns; if one had begun, it starts over.
	Begin(columns []frame.Column)
	// Flat reports whether the table expects them as Flat makes them.
	Flat() bool
	// Write receives a batch, of which nothing may be kept.
	Write(*frame.Batch) error
	// Len is how many bytes of the page are built.
	Len() int
	// Bytes is the memory that the table holds.
	Bytes() int64
}

// meaning returns the request without what can be spelled in more than one way:
// a cursor holds the bounds of its window as instants.
func (r ResultsRequest) meaning() ResultsRequest {
	r.CapturedFrom, r.CapturedTo = "", ""
	r.Sort, r.Timezone = unlessDefault(r.Sort, "desc"), unlessDefault(r.Timezone, "UTC")
	return r
}

// unlessDefault returns a value if it is not the default, otherwise the empty string.
func unlessDefault(value, byDefault string) string {
	if value == byDefault {
		return ""
	}
	return value
}

// Everything reports whether the request has no selector.
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

// Echo describes the read that a results response answers.
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

// Latest is which rows of a pair a read wants.
type Latest uint8

const (
	AllRows     Latest = iota
	NewestRow          // one row of each pair: the standing offer of its newest capture (decision 025)
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

// ItemSet is a set of items, as a list of their ids; empty: not given. As a
// string it is comparable, as selectors must be.
type ItemSet string

// ItemsOf returns the set of these ids.
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

// Product reports whether a product is selected.
func (s Selectors) Product() bool { return s.Item != 0 || s.EAN != "" || s.PZN != "" || s.ASIN != "" }

// None reports whether nothing is selected.
func (s Selectors) None() bool { return !s.Product() && s.Order == 0 && s.Site == "" && s.Items == "" }

// ScopeSize measures a scope under selectors.
type ScopeSize struct{ Pairs, Items, Sites uint64 }

// Candidates is the number of item-site candidates, or the largest number if it
// cannot be represented (RES-08).
func (s ScopeSize) Candidates() uint64 {
	if s.Items != 0 && s.Sites > math.MaxUint64/s.Items {
		return math.MaxUint64
	}
	return s.Items * s.Sites
}

// ResultsQuery is a query to the store: one range of rows in one order. Rows
// are ordered by capture time, then item, site, epoch, seq, capture and offer;
// ascending is the exact reverse of descending.
type ResultsQuery struct {
	Selectors Selectors
	Latest    Latest
	Window    contracts.Window // a zero end is open
	// FromNow and ToNow report which bounds of the window depend on when the
	// request arrived: no two requests have the same.
	FromNow, ToNow bool
	// Current tells the store that the window ends about now, so that the newest
	// observation of nearly every pair lies in it or before it. Rows do not
	// depend on it.
	Current   bool
	Ascending bool
	After     *Position // nil: from the start
	Watermark Watermark
	Limit     int             // 0: all
	Read      *admission.Read `json:"-"` // of a stream, whose rows wait for a client; otherwise nil

	Filters                      // without the coverage state
	Outcomes []contracts.Outcome // that the coverage state covers; nil: any

	Export   bool // whether the columns of the export fields are needed
	Standing bool // whether the columns that decide which offer stands are needed: shipping and buy box
}

// Filtered reports whether a filter is set, apart from selectors.
func (q *ResultsQuery) Filtered() bool {
	return q.Filters != (Filters{}) || q.Outcomes != nil
}

// unfiltered returns a query for the same pairs and time without filters, which
// returns some row of each pair that has one.
func (q *ResultsQuery) unfiltered() ResultsQuery {
	all := ResultsQuery{Selectors: q.Selectors, Window: q.Window, FromNow: q.FromNow, ToNow: q.ToNow, Current: q.Current, Watermark: q.Watermark}
	if q.Latest != AllRows && (q.Current || q.Window.From.IsZero() && q.Window.To.IsZero()) {
		all.Latest = NewestRow // there is a table of these
	}
	return all
}

// Position is where a row is in the order of results.
type Position struct {
	CapturedMs int64             `json:"t"`
	Item       contracts.ItemID  `json:"i"`
	Site       contracts.SiteKey `json:"k"`
	Epoch      uint32            `json:"e"`
	Seq        uint64            `json:"s"`
	Capture    uint16            `json:"c"`
	Offer      uint16            `json:"o"`
}

// resultsPlan is a parsed request: everything in it is checked and every time
// is resolved.
type resultsPlan struct {
	query     ResultsQuery
	requested contracts.Window // as exactly as it was written; the window of query has whole milliseconds
	given     givenBounds
	limit     int
	cursor    string // empty: from the start
	zone      *time.Location
	echo      Echo
	include   Include
	binding   binding
	// mostPairs is how many pairs a read may have; 0: as many as latestPerPair
	// and latestObservationPerPair.
	mostPairs uint64
	bounds    bounds
	floor     int64 // of the caller's visibility
	// endless: rows of captures dated later than now are read, too, if the
	// request has no upper bound.
	endless bool
}

// bounds identifies the arguments that bound the captures of a read, as its
// refusals name them.
type bounds int

const (
	capturedBounds bounds = iota // capturedFrom and capturedTo: a window
	sinceBounds                  // since and until
	fixedBounds                  // none
	orderBounds                  // none, for orders and their files
)

// resultsCursor is what a cursor of results holds: the resolved window, so that
// "now" stays what it was, and the watermark, so that the walk stays on its
// snapshot.
type resultsCursor struct {
	From      int64       `json:"f"` // ms; minInt64: open
	To        int64       `json:"u"`
	Watermark Watermark   `json:"w"`
	After     Position    `json:"a"`
	Given     givenBounds `json:"g"`
	Floor     int64       `json:"l,omitempty"` // of the visibility that the walk began with
}

// givenBounds records which bounds of its window a walk began with; the others
// follow from when it began.
type givenBounds struct {
	From bool `json:"f,omitempty"`
	To   bool `json:"u,omitempty"`
}

// coverageOutcomes maps each coverage state to the outcomes that it covers, as
// rows show them (see stateOf; choices 7). A pair without a result has no row,
// so NO_RESULT has none.
var coverageOutcomes = map[string][]contracts.Outcome{
	"PRICE_OBSERVED":    {contracts.PriceObserved},
	"UNAVAILABLE":       {contracts.Unavailable},
	"PRODUCT_NOT_FOUND": {contracts.ProductNotFound},
	"NO_RESULT":         {},
	"UNKNOWN":           {contracts.OutcomeUnknown, contracts.AccessRestricted, contracts.SiteUnavailable},
}

package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// ResultsRequest asks for observations, page by page or as a stream. Field
// names are those of the public parameters; zero means not given.
type ResultsRequest struct {
	Limit  *int   `json:"-"`
	Cursor string `json:"-"`

	OrderID    contracts.OrderID `json:"orderId,omitempty"`
	ItemID     contracts.ItemID  `json:"itemId,omitempty"`
	PZN        string            `json:"pzn,omitempty"`
	EAN        string            `json:"ean,omitempty"`
	ASINLocale string            `json:"asinLocale,omitempty"`
	ASIN       string            `json:"asin,omitempty"`
	Site       contracts.SiteKey `json:"site,omitempty"`

	GlobalScope   bool   `json:"globalScope,omitempty"`
	Brand         string `json:"brand,omitempty"`
	Manufacturer  string `json:"manufacturer,omitempty"`
	Merchant      string `json:"merchant,omitempty"`
	IsPrime       *bool  `json:"isPrime,omitempty"`
	IsBuyBox      *bool  `json:"isBuyBox,omitempty"`
	CoverageState string `json:"coverageState,omitempty"`

	CapturedFrom string `json:"capturedFrom,omitempty"` // RFC 3339 or YYYY-MM-DD
	CapturedTo   string `json:"capturedTo,omitempty"`
	Sort         string `json:"sort,omitempty"`     // asc or desc
	Timezone     string `json:"timezone,omitempty"` // IANA

	LatestPerPair            bool `json:"latestPerPair,omitempty"`
	LatestObservationPerPair bool `json:"latestObservationPerPair,omitempty"`

	Include Include `json:"include"`
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
	NewestRow          // one row of each pair: the first offer of its newest capture
	NewestWhole        // all rows of each pair's newest capture
)

// Selectors narrow the scope of a read; zero: not given.
type Selectors struct {
	Order                      contracts.OrderID
	Item                       contracts.ItemID
	EAN, PZN, ASIN, ASINLocale string
	Site                       contracts.SiteKey
}

// Product tells whether a product is selected.
func (s Selectors) Product() bool { return s.Item != 0 || s.EAN != "" || s.PZN != "" || s.ASIN != "" }

// None tells whether nothing is selected.
func (s Selectors) None() bool { return !s.Product() && s.Order == 0 && s.Site == "" }

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
	Ascending bool
	After     *Position // nil: from the start
	Watermark Watermark
	Limit     int // 0: all

	Brand, Manufacturer, Merchant string
	IsPrime, IsBuyBox             *bool
	Outcomes                      []contracts.Outcome // nil: any

	Export bool // whether the columns of the export fields are needed
}

// Filtered tells whether a filter beside selectors is set.
func (q *ResultsQuery) Filtered() bool {
	return q.Brand != "" || q.Manufacturer != "" || q.Merchant != "" || q.IsPrime != nil || q.IsBuyBox != nil || q.Outcomes != nil
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
	limit   int
	zone    *time.Location
	echo    Echo
	include Include
	binding binding
}

// resultsCursor is what a cursor of results holds: the resolved window, so
// that "now" stays what it was, and the watermark, so that the walk stays on
// its snapshot.
type resultsCursor struct {
	From      int64     `json:"f"` // ms; minInt64: open
	To        int64     `json:"u"`
	Watermark Watermark `json:"w"`
	After     Position  `json:"a"`
}

// coverageOutcomes maps each coverage state to the outcomes it stands for
// (choices 7). A pair without a result has no row, so NO_RESULT has none.
var coverageOutcomes = map[string][]contracts.Outcome{
	"PRICE_OBSERVED":    {contracts.PriceObserved},
	"UNAVAILABLE":       {contracts.Unavailable},
	"PRODUCT_NOT_FOUND": {contracts.ProductNotFound},
	"NO_RESULT":         {},
	"UNKNOWN":           {contracts.OutcomeUnknown, contracts.AccessRestricted, contracts.SiteUnavailable},
}

// plan checks a request by the rules that need no data, and resolves its
// window at one logical time.
func (s *Service) plan(p Principal, r ResultsRequest) (*resultsPlan, error) {
	limit, err := pageLimit(r.Limit, MaxResultsLimit)
	if err != nil {
		return nil, err
	}
	plan := &resultsPlan{
		limit:   limit,
		include: r.Include,
		binding: binding{Account: p.Account, Route: "results", Query: r},
		query: ResultsQuery{
			Selectors: Selectors{
				Order: r.OrderID, Item: r.ItemID, EAN: r.EAN, PZN: r.PZN, ASIN: r.ASIN, ASINLocale: r.ASINLocale, Site: r.Site,
			},
			Brand: r.Brand, Manufacturer: r.Manufacturer, Merchant: r.Merchant, IsPrime: r.IsPrime, IsBuyBox: r.IsBuyBox,
			Export: r.Include.ExportFields,
		},
	}
	q := &plan.query
	switch {
	case r.ASIN != "" && r.ASINLocale == "":
		return nil, invalid("asin: needs asinLocale beside it.")
	case r.ASIN == "" && r.ASINLocale != "":
		return nil, invalid("asinLocale: needs asin beside it.")
	case r.LatestPerPair && r.LatestObservationPerPair:
		return nil, invalid("latestPerPair and latestObservationPerPair exclude each other.")
	case r.LatestPerPair:
		q.Latest = NewestRow
	case r.LatestObservationPerPair:
		q.Latest = NewestWhole
	}
	switch r.Sort {
	case "", "desc":
	case "asc":
		q.Ascending = true
	default:
		return nil, invalid("sort: %q is neither asc nor desc.", r.Sort)
	}
	if r.CoverageState != "" {
		outcomes, ok := coverageOutcomes[r.CoverageState]
		if !ok {
			return nil, invalid("coverageState: %q is none of PRICE_OBSERVED, UNAVAILABLE, PRODUCT_NOT_FOUND, NO_RESULT, UNKNOWN.", r.CoverageState)
		}
		q.Outcomes = outcomes
	}
	if plan.zone, err = contracts.LoadZone(cmp.Or(r.Timezone, "UTC")); err != nil {
		return nil, invalid("timezone: %s.", err)
	}
	if err := s.planWindow(plan, r); err != nil {
		return nil, err
	}
	plan.echo = Echo{
		Scope: ScopeScoped, Timezone: cmp.Or(r.Timezone, "UTC"), Sort: cmp.Or(r.Sort, "desc"),
		LatestPerPair: r.LatestPerPair, LatestObservationPerPair: r.LatestObservationPerPair,
	}
	if r.GlobalScope {
		plan.echo.Scope = ScopeGlobal
	}
	return plan, nil
}

// planWindow resolves the window (RES-02 to RES-06).
func (s *Service) planWindow(plan *resultsPlan, r ResultsRequest) error {
	q := &plan.query
	var err error
	if r.CapturedFrom != "" {
		if q.Window.From, err = contracts.ParseLower(r.CapturedFrom, plan.zone); err != nil {
			return invalid("capturedFrom: %s.", err)
		}
	}
	if r.CapturedTo != "" {
		if q.Window.To, err = contracts.ParseUpper(r.CapturedTo, plan.zone); err != nil {
			return invalid("capturedTo: %s.", err)
		}
	}
	explicit := r.CapturedFrom != "" || r.CapturedTo != ""
	now := s.now().UTC().Truncate(contracts.Resolution)
	switch {
	case r.GlobalScope:
		if r.CapturedFrom == "" || r.CapturedTo == "" {
			return invalid("globalScope=true needs both capturedFrom and capturedTo.")
		}
		if !q.Selectors.None() {
			return invalid("globalScope=true goes with no product, order or site selector. Remove globalScope, or the selector.")
		}
	case explicit && q.Selectors.None():
		return invalid("A window needs a selector (itemId, pzn, ean, asin with asinLocale, orderId or site), or globalScope=true with both bounds.")
	case explicit:
		if r.CapturedTo == "" {
			q.Window.To = now
		}
	case q.Latest != AllRows: // latest reads are not history reads (choices 28)
	case q.Selectors.Product():
		q.Window = contracts.Window{From: now.Add(-productHistoryWindow), To: now}
	default:
		q.Window = contracts.Window{From: now.Add(-defaultWindow), To: now}
	}
	if !q.Window.From.IsZero() && !q.Window.To.IsZero() && q.Window.From.After(q.Window.To) {
		return invalid("capturedFrom lies after capturedTo.")
	}
	if r.GlobalScope && q.Window.Length() > maxGlobalWindow {
		return fault.New(fault.Invalid, CodeScopeTooBroad,
			"The window of a global read is %s, at most 168 hours. Send a new request with a narrower window; keep both bounds.", q.Window.Length())
	}
	return nil
}

// resume puts a cursor's state into the plan; without a cursor the read
// begins at the watermark of now.
func (s *Service) resume(plan *resultsPlan, cursor string, now Watermark) error {
	q := &plan.query
	q.Watermark = now
	if cursor != "" {
		var c resultsCursor
		if err := s.seal.openCursor(plan.binding, cursor, &c); err != nil {
			return err
		}
		q.Window = contracts.Window{From: fromMs(c.From), To: fromMs(c.To)}
		q.Watermark = c.Watermark
		q.After = &c.After
	}
	plan.echo.CapturedFrom = formatBound(q.Window.From, plan.zone)
	plan.echo.CapturedTo = formatBound(q.Window.To, plan.zone)
	return nil
}

// cursorAfter seals the place after a row.
func (s *Service) cursorAfter(plan *resultsPlan, after Position) (string, error) {
	q := &plan.query
	return s.seal.sealCursor(plan.binding, resultsCursor{
		From: toMs(q.Window.From), To: toMs(q.Window.To), Watermark: q.Watermark, After: after,
	})
}

const openBound = math.MinInt64

func toMs(t time.Time) int64 {
	if t.IsZero() {
		return openBound
	}
	return t.UnixMilli()
}

func fromMs(ms int64) time.Time {
	if ms == openBound {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func formatBound(t time.Time, loc *time.Location) *string {
	if t.IsZero() {
		return nil
	}
	text := string(newZoneFormat(loc).append(nil, t.UnixMilli()))
	return &text
}

// guard refuses reads by the size of their scope, before any row is read.
func (s *Service) guard(plan *resultsPlan, size ScopeSize) error {
	q := &plan.query
	if q.Latest == NewestRow && size.Pairs > maxLatestPairs {
		return fault.New(fault.Invalid, CodeLatestPairTooBroad,
			"latestPerPair covers %d item-site pairs, at most %d. Narrow with itemId, orderId, site, pzn, ean or asin.", size.Pairs, maxLatestPairs)
	}
	if q.Latest == NewestWhole && size.Candidates() > maxEnrichCandidates {
		return fault.New(fault.Invalid, CodeScopeTooBroad,
			"The read covers %d items at %d sites, at most %d candidates. Narrow with itemId, orderId, site, pzn, ean or asin.", size.Items, size.Sites, maxEnrichCandidates)
	}
	pairs, hours := s.cfg.ScanGuardMaxPairs, s.cfg.ScanGuardMaxHours
	if pairs == 0 && hours == 0 {
		return nil
	}
	tooManyPairs := pairs > 0 && size.Pairs > uint64(pairs)
	tooLong := hours > 0 && (q.Window.From.IsZero() || s.windowEnd(q).Sub(q.Window.From) > time.Duration(hours)*time.Hour)
	if pairs > 0 && hours > 0 && !(tooManyPairs && tooLong) || !tooManyPairs && !tooLong {
		return nil
	}
	return fault.New(fault.Invalid, CodeScopeTooBroad,
		"The scope of %d pairs and the window are jointly too broad (at most %s). Send a new request with a narrower scope or window.", size.Pairs, guardText(pairs, hours))
}

func (s *Service) windowEnd(q *ResultsQuery) time.Time {
	if q.Window.To.IsZero() {
		return s.now()
	}
	return q.Window.To
}

func guardText(pairs, hours int) string {
	switch {
	case hours == 0:
		return fmt.Sprintf("%d pairs", pairs)
	case pairs == 0:
		return fmt.Sprintf("%d hours", hours)
	}
	return fmt.Sprintf("%d pairs and %d hours", pairs, hours)
}

// nothing tells that no row can match, whatever is stored.
func (q *ResultsQuery) nothing(v Visibility) bool {
	return q.Outcomes != nil && len(q.Outcomes) == 0 || q.Watermark == (Watermark{}) ||
		q.Selectors.Site != "" && !v.Scope.AllSites && !slices.Contains(v.Scope.Sites, q.Selectors.Site) ||
		q.Selectors.Order != 0 && !v.Scope.AllOrders && !slices.Contains(v.Scope.Orders, q.Selectors.Order)
}

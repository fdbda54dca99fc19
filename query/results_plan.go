package query

import (
	"cmp"
	"math"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// plan checks a request by the rules that need no data, and resolves its
// window at one logical time.
func (s *Service) plan(p Principal, r ResultsRequest) (*resultsPlan, error) {
	plan, err := s.understand(p, r)
	if err != nil {
		return nil, err
	}
	return plan, checkWindow(r, &plan.query)
}

// understand reads every part of a request, whether or not its window is
// allowed.
func (s *Service) understand(p Principal, r ResultsRequest) (*resultsPlan, error) {
	limit, err := pageLimit(r.Limit, MaxResultsLimit)
	if err != nil {
		return nil, err
	}
	plan := &resultsPlan{
		limit:   limit,
		include: r.Include,
		binding: binding{Account: p.Account, Route: "results", Query: r},
		query: ResultsQuery{
			Selectors: r.selectors(),
			Brand:     r.Brand, Manufacturer: r.Manufacturer, Merchant: r.Merchant, IsPrime: r.IsPrime, IsBuyBox: r.IsBuyBox,
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
	if q.Window, err = s.window(r, q, plan.zone); err != nil {
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

// window resolves the window that a request means (RES-02, RES-05, RES-06).
func (s *Service) window(r ResultsRequest, q *ResultsQuery, zone *time.Location) (w contracts.Window, err error) {
	if r.CapturedFrom != "" {
		if w.From, err = contracts.ParseLower(r.CapturedFrom, zone); err != nil {
			return w, invalid("capturedFrom: %s.", err)
		}
	}
	if r.CapturedTo != "" {
		if w.To, err = contracts.ParseUpper(r.CapturedTo, zone); err != nil {
			return w, invalid("capturedTo: %s.", err)
		}
	}
	now := s.now().UTC().Truncate(contracts.Resolution)
	switch {
	case r.CapturedTo != "":
	case r.CapturedFrom != "":
		w.To = now
	case q.Latest != AllRows: // latest reads are not history reads (choices 28)
	case q.Selectors.Product():
		w = contracts.Window{From: now.Add(-productHistoryWindow), To: now}
	default:
		w = contracts.Window{From: now.Add(-defaultWindow), To: now}
	}
	return w, nil
}

// timeOnly tells whether a request has a window and nothing that says where
// (RES-03b).
func (r *ResultsRequest) timeOnly() bool {
	return !r.GlobalScope && (r.CapturedFrom != "" || r.CapturedTo != "") && r.selectors().None()
}

// checkWindow refuses windows by the rules that need no data (RES-03, RES-04).
func checkWindow(r ResultsRequest, q *ResultsQuery) error {
	switch {
	case r.GlobalScope && (r.CapturedFrom == "" || r.CapturedTo == ""):
		return invalid("globalScope=true needs both capturedFrom and capturedTo.")
	case r.GlobalScope && !q.Selectors.None():
		return invalid("globalScope=true goes with no product, order or site selector. Remove globalScope, or the selector.")
	case r.timeOnly():
		return invalid("A window needs a selector (itemId, pzn, ean, asin with asinLocale, orderId or site), or globalScope=true with both bounds.")
	case r.CapturedTo == "" && q.Window.From.After(q.Window.To) && !q.Window.To.IsZero():
		return invalid("capturedFrom lies in the future.")
	case !q.Window.From.IsZero() && !q.Window.To.IsZero() && q.Window.From.After(q.Window.To):
		return invalid("capturedFrom lies after capturedTo.")
	case r.GlobalScope && q.Window.Length() > maxGlobalWindow:
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
	text := formatInstant(t, loc)
	return &text
}

func formatInstant(t time.Time, loc *time.Location) string {
	return string(newZoneFormat(loc).append(nil, t.UnixMilli()))
}

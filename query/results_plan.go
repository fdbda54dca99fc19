package query

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Check refuses a read of results for the faults that can be found without
// data, all at once.
func (s *Service) Check(p Principal, r ResultsRequest) error {
	_, err := s.plan(p, r)
	return err
}

// understand parses every part of a request, whether or not its window is
// allowed.
func (s *Service) understand(p Principal, r ResultsRequest) (*resultsPlan, error) {
	limit, wrong := pageLimit(r.Limit, MaxResultsLimit)
	plan := &resultsPlan{
		limit:   limit,
		cursor:  r.Cursor,
		include: r.Include,
		given:   givenBounds{From: r.CapturedFrom != "", To: r.CapturedTo != ""},
		binding: binding{Account: p.Account, Route: "results", Query: r, Meaning: r.meaning()},
		query: ResultsQuery{
			Selectors: r.selectors(), Filters: r.Filters, Export: r.Include.ExportFields,
		},
	}
	q := &plan.query
	switch {
	case r.ASIN != "" && r.ASINLocale == "":
		wrong = joinFaults(wrong, invalid("asin: needs asinLocale as well."))
	case r.ASIN == "" && r.ASINLocale != "":
		wrong = joinFaults(wrong, invalid("asinLocale: needs asin as well."))
	}
	switch {
	case r.LatestPerPair && r.LatestObservationPerPair:
		wrong = joinFaults(wrong, invalid("latestPerPair and latestObservationPerPair exclude each other."))
	case r.LatestPerPair:
		q.Latest = NewestRow
	case r.LatestObservationPerPair:
		q.Latest = NewestWhole
	}
	if err := r.checkValues(); err != nil {
		wrong = joinFaults(wrong, err)
	}
	q.Ascending = r.Sort == "asc"
	if r.CoverageState != "" {
		q.CoverageState, q.Outcomes = "", coverageOutcomes[r.CoverageState]
	}
	var err error
	if plan.zone, err = contracts.LoadZone(cmp.Or(r.Timezone, "UTC")); err != nil {
		wrong, plan.zone = joinFaults(wrong, invalid("timezone: %s.", err)), time.UTC
	}
	if plan.requested, err = s.window(r, q, plan.zone); err != nil {
		wrong = joinFaults(wrong, err)
	}
	if wrong != nil {
		return nil, wrong
	}
	q.Window = plan.requested.Whole()
	q.ToNow = !plan.given.To && !q.Window.To.IsZero()
	q.FromNow = !plan.given.From && !q.Window.From.IsZero()
	q.Current = s.current(q)
	plan.echo = Echo{
		Scope: ScopeScoped, Timezone: cmp.Or(r.Timezone, "UTC"), Sort: cmp.Or(r.Sort, "desc"),
		LatestPerPair: r.LatestPerPair, LatestObservationPerPair: r.LatestObservationPerPair,
	}
	if r.GlobalScope {
		plan.echo.Scope = ScopeGlobal
	}
	return plan, nil
}

// currentFor is how long a window is current after its end. Afterwards, too many
// pairs have a newer observation.
const currentFor = 5 * time.Minute

// current decides ResultsQuery.Current.
func (s *Service) current(q *ResultsQuery) bool {
	return q.Latest != AllRows && !q.Window.To.Before(s.now().Add(-currentFor))
}

// window resolves the window that a request means (RES-02, RES-05, RES-06), as
// exactly as it is written: bounds are compared before they are rounded.
func (s *Service) window(r ResultsRequest, q *ResultsQuery, zone *time.Location) (w contracts.Window, wrong error) {
	var err error
	if r.CapturedFrom != "" {
		if w.From, err = contracts.ParseLower(r.CapturedFrom, zone); err != nil {
			wrong = invalid("capturedFrom: %s.", err)
		}
	}
	if r.CapturedTo != "" {
		if w.To, err = contracts.ParseUpper(r.CapturedTo, zone); err != nil {
			wrong = joinFaults(wrong, invalid("capturedTo: %s.", err))
		}
	}
	if wrong != nil {
		return w, wrong
	}
	now := s.now().UTC()
	whole := now.Truncate(contracts.Resolution)
	switch {
	case r.CapturedTo != "":
	case r.CapturedFrom != "":
		w.To = now
	case q.Latest != AllRows: // latest reads are not history reads (choices 28)
	case q.Selectors.Product():
		w = contracts.Window{From: whole.Add(-productHistoryWindow), To: whole}
	default:
		w = contracts.Window{From: whole.Add(-defaultWindow), To: whole}
	}
	return w, nil
}

// timeOnly reports whether a request has a window but neither a selector nor
// globalScope (RES-03b).
func (r *ResultsRequest) timeOnly() bool {
	return !r.GlobalScope && (r.CapturedFrom != "" || r.CapturedTo != "") && r.selectors().None()
}

// checkScope refuses a window without a selector or globalScope, and a global
// read with a selector or without both bounds.
func (r *ResultsRequest) checkScope() (wrong error) {
	if r.GlobalScope && (r.CapturedFrom == "" || r.CapturedTo == "") {
		wrong = invalid("globalScope=true needs both capturedFrom and capturedTo.")
	}
	if r.GlobalScope && !r.selectors().None() {
		wrong = joinFaults(wrong, invalid("globalScope=true cannot be combined with a product, order or site. Remove globalScope or the selector."))
	}
	if r.timeOnly() {
		wrong = invalid("A window needs a selector (itemId, pzn, ean, asin with asinLocale, orderId or site), or globalScope=true with both bounds.")
	}
	return wrong
}

// checkWindow refuses windows by the rules that need no data (RES-03, RES-04).
func (p *resultsPlan) checkWindow(r ResultsRequest) error {
	q := &p.query
	if err := r.checkScope(); err != nil {
		return err
	}
	switch {
	case p.requested.Empty() && r.CapturedTo == "":
		return invalid("capturedFrom lies in the future.")
	case p.requested.Empty():
		return p.noTime(r)
	case r.GlobalScope && q.Window.Length() > maxGlobalWindow:
		return fault.New(fault.Invalid, CodeScopeTooBroad,
			"The window of a global read is %s, at most 168 hours. Send a new request with a narrower window; keep both bounds.", inHours(q.Window.Length()))
	}
	return nil
}

// noTime returns the refusal of two bounds without an instant between them.
func (p *resultsPlan) noTime(r ResultsRequest) error {
	for _, day := range []string{r.CapturedFrom, r.CapturedTo} {
		if !contracts.HasDay(day, p.zone) {
			return invalid("capturedFrom and capturedTo leave no time between them: %s never had the day %s.", p.zone, day)
		}
	}
	return invalid("capturedFrom lies after capturedTo.")
}

// resume puts the state of its cursor into a plan; without a cursor the read
// begins at the current watermark.
func (s *Service) resume(plan *resultsPlan, v Visibility, now Watermark) error {
	q := &plan.query
	q.Watermark = now
	if plan.cursor != "" {
		c, err := s.walkOf(plan)
		if err == nil {
			err = v.checkCursor(now, c.Floor, c.Watermark)
		}
		if err != nil {
			return err
		}
		plan.given = c.Given
		q.Window, q.FromNow, q.ToNow = contracts.Window{From: fromMs(c.From), To: fromMs(c.To)}, false, false
		q.Current = s.current(q)
		q.Watermark = c.Watermark
		q.After = &c.After
	}
	shown := q.Window
	if plan.cursor == "" {
		shown = shownWindow(plan.requested)
		if err := v.kept(q.Window); err != nil {
			return err
		}
	}
	plan.floor = v.Floor
	plan.echo.CapturedFrom = formatBound(shown.From, plan.zone)
	plan.echo.CapturedTo = formatBound(shown.To, plan.zone)
	return nil
}

// walkOf opens the cursor of the walk that the plan continues: the plan's
// bounds must be those of the walk's window, or left out where the walk left
// them out.
func (s *Service) walkOf(plan *resultsPlan) (c resultsCursor, err error) {
	o, err := s.seal.open(plan.binding, plan.cursor)
	if err != nil {
		return c, err
	}
	if err := o.into(&c); err != nil {
		return c, err
	}
	sameBound := func(name string, given, began bool, at time.Time, ms int64) {
		if given && toMs(at) != ms || !given && began {
			o.differs = append(o.differs, name)
		}
	}
	sameBound("capturedFrom", plan.given.From, c.Given.From, plan.query.Window.From, c.From)
	sameBound("capturedTo", plan.given.To, c.Given.To, plan.query.Window.To, c.To)
	if len(o.differs) > 0 {
		return c, otherQuery(o.differs)
	}
	return c, nil
}

// cursorAfter seals the position after a row.
func (s *Service) cursorAfter(plan *resultsPlan, after Position) (string, error) {
	q := &plan.query
	return s.seal.sealCursor(plan.binding, resultsCursor{
		From: toMs(q.Window.From), To: toMs(q.Window.To), Watermark: q.Watermark, After: after, Given: plan.given, Floor: plan.floor,
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

// shownWindow is a window as an answer shows it: in whole milliseconds, or as
// it was requested if it contains none.
func shownWindow(requested contracts.Window) contracts.Window {
	if w := requested.Whole(); !w.Empty() {
		return w
	}
	return requested
}

func formatBound(t time.Time, loc *time.Location) *string {
	if t.IsZero() {
		return nil
	}
	text := formatInstant(t, loc)
	return &text
}

// formatInstant formats an instant so that it can be sent back: with
// milliseconds, or with more digits if it has them.
func formatInstant(t time.Time, loc *time.Location) string {
	text := string(newZoneFormat(loc).append(nil, t.UnixMilli()))
	finer := t.Sub(t.Truncate(contracts.Resolution))
	if finer == 0 {
		return text
	}
	millis := len("2006-01-02T15:04:05.000")
	return text[:millis] + fmt.Sprintf("%06d", finer.Nanoseconds()) + text[millis:]
}

// lastInstant formats instants and remembers the last one: all tails that an
// edge woke name the same.
type lastInstant struct{ last atomic.Pointer[formatted] }

type formatted struct {
	at   time.Time
	zone *time.Location
	text string
}

// format is formatInstant.
func (l *lastInstant) format(at time.Time, zone *time.Location) string {
	f := l.last.Load()
	if f == nil || !f.at.Equal(at) || f.zone.String() != zone.String() {
		f = &formatted{at, zone, formatInstant(at, zone)}
		l.last.Store(f)
	}
	return f.text
}

// inHours returns a duration for people, in tenths of an hour, rounded up.
func inHours(d time.Duration) string {
	return strconv.FormatFloat(math.Ceil(10*d.Hours())/10, 'f', -1, 64) + " hours"
}

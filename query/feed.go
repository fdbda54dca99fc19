package query

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query/alert"
)

// FeedRequest requests the rows that became visible since a token was issued,
// or, without one, a token for now. See contracts/decisions/032-the-feed.md.
type FeedRequest struct {
	Since string
	Limit *int
	// Rows is what a new feed covers: its selectors, filters, window and field
	// groups. A token holds them.
	Rows ResultsRequest
	// Lines: the JSON of the rows is separated by newlines, not by commas.
	Lines bool
	// Table receives the rows of a page, with the columns of FeedColumns, instead
	// of their JSON; nil: JSON. Alerts are always JSON.
	Table RowTable
	// Alerts: the page has the alerts that fire at the rows, not the rows.
	// Limit still bounds the rows, which are then at most MaxAlertRows.
	Alerts bool
	// Rule is the rule of new alerts. A token holds it.
	Rule *alert.Rule
	// AnswerBytes, if positive, ends a page of rows as soon as they take so
	// many bytes as JSON. A page is charged about twice that.
	AnswerBytes int
	// UpTo is an edge that the tables have reached: all readers that it woke
	// read up to it, and share equal pages. nil: up to the current edge.
	UpTo *EdgeAt

	state *feedState // what Since holds; nil: it is opened
}

// After returns the request for what follows a page.
func (r FeedRequest) After(page *FeedPage) FeedRequest {
	return FeedRequest{Since: page.Progress.Token, Limit: r.Limit, Lines: r.Lines, Table: r.Table, Alerts: r.Alerts, AnswerBytes: r.AnswerBytes, state: page.state}
}

// FeedPosition is a position in the order in which rows become visible.
type FeedPosition struct {
	Epoch   uint32 `json:"e"`
	Seq     uint64 `json:"s"`
	Capture uint16 `json:"c"`
	Offer   uint16 `json:"o"`
}

// positionAfter returns the position after everything up to a watermark.
func positionAfter(w Watermark) FeedPosition {
	return FeedPosition{w.Epoch, w.Seq, math.MaxUint16, math.MaxUint16}
}

// BetweenEvents reports whether the position is after all rows of an event.
func (p FeedPosition) BetweenEvents() bool { return p == positionAfter(p.mark()) }

func (p FeedPosition) mark() Watermark { return Watermark{p.Epoch, p.Seq} }

// FeedQuery is a query to the store: the rows of a query after a position, in their order.
// The watermark is that of Rows; its order, position and limit are ignored.
type FeedQuery struct {
	Rows  ResultsQuery
	After FeedPosition
	Limit int
}

// FeedPage holds rows that became visible, in that order.
type FeedPage struct {
	Rows     RowsJSON // each with its rowId; or alerts
	Progress Progress
	Limit    int
	// Seen is how far the tables were: Await waits for more.
	Seen Edge
	// PollAfter, if positive, is after how long there may be more, whether or not
	// the tables move; Await is then of no use.
	PollAfter time.Duration

	state *feedState      // what the token holds
	next  json.RawMessage // the same as JSON; nil: not known yet
}

// Progress is how far a feed has been read.
type Progress struct {
	// Token continues after everything returned.
	Token string `json:"token"`
	// AsOf is when UpToDate was determined, true or false.
	AsOf string `json:"asOf"`
	// UpToDate: nothing else was visible when the tables were queried.
	UpToDate bool `json:"upToDate"`
}

// feedState is what a token holds: the complete state of a feed.
type feedState struct {
	Rows       ResultsRequest   `json:"r"`
	From       int64            `json:"f"` // ms; minInt64: open
	To         int64            `json:"u"`
	At         FeedPosition     `json:"a"`
	Generation uint64           `json:"g,omitempty"`
	Scope      string           `json:"v"`
	Rule       *alert.Rule      `json:"k,omitempty"` // of alerts
	Silence    *silencePosition `json:"q,omitempty"` // only of alert.NoObservation

	seen *feedSight // of the page before; nil: there was none here
}

func (s *Service) feedBinding(p Principal, alerts bool) binding {
	if alerts {
		return binding{Account: p.Account, Route: "alerts"}
	}
	return binding{Account: p.Account, Route: "changes"}
}

// Feed reads a page of a feed: at most limit rows. It does not wait for any.
func (s *Service) Feed(ctx context.Context, p Principal, r FeedRequest) (page *FeedPage, err error) {
	if r.UpTo != nil {
		defer s.edge.read()()
	}
	most := MaxResultsLimit
	if r.Alerts {
		most = MaxAlertRows
	}
	limit, err := pageLimit(r.Limit, most)
	if err != nil {
		return nil, err
	}
	state, err := s.openFeed(p, r)
	if err != nil {
		return nil, err
	}
	room, held, err := s.charge(ctx, feedBytes(r, &state, limit))
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	if page, err = s.feed(ctx, p, r, state, limit); err != nil {
		held()
		return nil, s.budget(ctx, err)
	}
	room.Resize(page.Rows.bytes(r.Table))
	page.Rows.held = held
	s.stats.fed(r, page)
	return page, nil
}

// openFeed returns what the token of a request holds, or the state of a new feed.
func (s *Service) openFeed(p Principal, r FeedRequest) (state feedState, err error) {
	switch {
	case r.state != nil:
		return *r.state, nil
	case r.Since == "":
		return s.beginFeed(p, r)
	case r.Rule != nil:
		return state, invalid("since: the token contains its rule. Send no rule with it.")
	}
	err = s.openSince(s.feedBinding(p, r.Alerts), r.Since, r.Rows, &state, state.restartAdvice)
	return state, err
}

func (s *Service) feed(ctx context.Context, p Principal, r FeedRequest, state feedState, limit int) (*FeedPage, error) {
	requestedAt := s.now().UTC()
	a, err := s.feedAccess(ctx, p, &state, r.UpTo)
	if err != nil {
		return nil, err
	}
	plan, err := s.feedPlan(p, &state)
	if err != nil {
		return nil, err
	}
	scope, err := s.see(ctx, &state, a, plan)
	if err != nil {
		return nil, err
	}
	mark := a.Watermark
	if r.UpTo.within(state.At, a) {
		mark, requestedAt = r.UpTo.Watermark, r.UpTo.QueriedAt.UTC()
	}
	page := &FeedPage{Limit: limit, Seen: Edge{mark, a.Generation, a.Visibility.Snapshot, a.Visibility.Floor}}
	if r.Since == "" {
		if err := settled(a.Visibility); err != nil {
			return nil, err
		}
		state.At, state.Generation, state.Scope = positionAfter(a.Watermark), a.Generation, scope
		if state.Rule != nil && state.Rule.Kind == alert.NoObservation {
			state.Silence = judgedUntil(lastStep(requestedAt))
		}
	}
	if err := state.checkContinuable(a, scope, state.restartAdvice); err != nil {
		return nil, err
	}
	in := &read{resultsPlan: plan, vis: a.Visibility}
	plan.query.Watermark = mark
	if e := explaining(ctx); e != nil {
		return nil, s.explainFeed(ctx, e, in, limit)
	}
	if r.Table != nil {
		r.Table.Begin(FeedColumns(plan.include))
	}
	at := positionAfter(mark)
	page.Progress.UpToDate = true
	sees := !a.Visibility.Nothing() && !plan.query.nothing(a.Visibility)
	switch {
	case state.Silence != nil:
		requestedAt, err = s.fillSilences(ctx, in, page, &state, r, requestedAt, sees)
	case sees && state.At != at:
		at, err = s.fillFeed(ctx, in, page, &state, r)
	}
	if err != nil {
		page.Rows.Release()
		return nil, err
	}
	state.At = at
	page.state = &state
	page.Progress.AsOf = s.asOf.format(requestedAt.Truncate(contracts.Resolution), plan.zone)
	if page.next == nil {
		if page.next, err = json.Marshal(state); err != nil {
			return nil, err
		}
	}
	page.Progress.Token, err = s.seal.sealState(s.feedBinding(p, r.Alerts), page.next)
	return page, err
}

// within reports whether a feed that is at a position may be read up to the edge:
// the edge is not before the position, nor beyond what the tables hold.
func (e *EdgeAt) within(at FeedPosition, a *Access) bool {
	return e != nil && e.Generation == a.Generation && at.mark().Compare(e.Watermark) <= 0 && e.Watermark.Compare(a.Watermark) <= 0
}

// openSince opens the state of a token, which must not be sent with a query.
// The argument advice returns words on how to begin again what the state
// belongs to.
func (s *Service) openSince(bound binding, since string, other ResultsRequest, state any, advice func() string) error {
	if other != (ResultsRequest{}) {
		return invalid("since: the token contains its query. Send no selectors, filters, window or field groups with it.")
	}
	o, err := s.seal.open(bound, since)
	switch {
	case errors.Is(err, errExpired) && json.Unmarshal(o.state, state) == nil:
		return gone(CodeFeedTokenExpired, "The token is older than 30 days.", advice())
	case err != nil || json.Unmarshal(o.state, state) != nil:
		return invalid("since: it is wrong, or belongs to another account.")
	}
	return nil
}

// checkContinuable refuses a state from which no changes can be reported: what
// it covered is no longer there, or not there yet. The request that a refusal
// advises begins where rows are still kept.
func (state *feedState) checkContinuable(a *Access, scope string, advice func() string) error {
	var code, why string
	switch at := state.At.mark(); {
	case state.Scope != scope:
		code, why = CodeFeedScopeChanged, "What this account sees, or what the selectors stand for, changed since the token was made, or old rows are no longer kept."
	case state.Generation != a.Generation:
		code, why = CodeFeedHistoryRebuilt, "The tables were rebuilt or restored since the token was made."
	case at.Compare(a.Watermark) > 0:
		return &fault.Error{Kind: fault.Unavailable, RetryAfter: time.Second, Msg: "This node's tables are behind the token. Send the request again."}
	default:
		return nil
	}
	if kept := a.Visibility.Floor; state.From != openBound && (state.To == openBound || state.To >= kept) {
		state.From = max(state.From, kept)
	}
	return gone(code, why, advice())
}

// beginFeed is the state of a new feed, without its position. A bound of its
// window that was not sent is open.
func (s *Service) beginFeed(p Principal, request FeedRequest) (state feedState, err error) {
	if request.Alerts {
		if err := checkRule(request.Rule); err != nil {
			return state, err
		}
	}
	r := request.Rows
	if err := feedable(r); err != nil {
		return state, err
	}
	plan, err := s.understand(p, r)
	if err != nil {
		return state, err
	}
	if plan.given.From && plan.given.To && plan.requested.Empty() {
		return state, plan.noTime(r)
	}
	w := plan.query.Window
	if !plan.given.From {
		w.From = time.Time{}
	}
	if !plan.given.To {
		w.To = time.Time{}
	}
	state = stateOf(r, w)
	state.Rule = request.Rule
	return state, nil
}

func stateOf(r ResultsRequest, w contracts.Window) feedState {
	r.Limit, r.Cursor, r.ChangesToken, r.Table = nil, "", nil, nil
	r.CapturedFrom, r.CapturedTo, r.Sort, r.GlobalScope = "", "", "", false
	return feedState{Rows: r, From: toMs(w.From), To: toMs(w.To)}
}

// feedable refuses queries that a feed cannot follow.
func feedable(r ResultsRequest) error {
	for _, p := range ResultsParameters {
		if p.FeedsRefuse() && p.Given(&r) != nil {
			return invalid("%s: a feed cannot filter by it. Leave it out, and filter the rows yourself.", p.Name)
		}
	}
	return nil
}

// feedPlan is the plan of a feed.
func (s *Service) feedPlan(p Principal, state *feedState) (*resultsPlan, error) {
	if state.seen != nil {
		plan := state.seen.plan
		return &plan, nil
	}
	plan, err := s.understand(p, state.Rows)
	if err != nil {
		return nil, err
	}
	plan.query.Window = contracts.Window{From: fromMs(state.From), To: fromMs(state.To)}
	plan.query.FromNow, plan.query.ToNow = false, false
	return plan, nil
}

// maxFeedItems is how many products an identifier in a feed may match.
const maxFeedItems = 1_000

// feedScope is a hash of the pairs that a caller sees under selectors: the
// version of its mandate's scope, what the account is narrowed to, and the
// products that identifiers match.
func (s *Service) feedScope(ctx context.Context, v Visibility, sel Selectors) (string, error) {
	var items []contracts.ItemID
	if sel.Product() && !v.Nothing() {
		var err error
		items, err = recall(ctx, s.store, "scope items", v, sel, func(ctx context.Context) ([]contracts.ItemID, error) {
			return s.store.ScopeItems(ctx, v, sel, maxFeedItems)
		})
		if err != nil {
			return "", err
		}
	}
	v.Applied, v.Snapshot, v.Catalogue = false, 0, nil
	raw, err := json.Marshal([]any{v, items})
	return fingerprint(raw), err
}

// settled refuses to begin a feed while rows of a grant are still being filled
// in at positions that the feed would have passed.
func settled(v Visibility) error {
	if v.Applied || v.Nothing() {
		return nil
	}
	return &fault.Error{
		Kind: fault.Unavailable, RetryAfter: time.Second,
		Msg: "What this account was granted is still being filled in, so that no changes token can be given yet. Ask again.",
	}
}

func gone(code, why, advice string) error { return fault.New(fault.Gone, code, "%s %s", why, advice) }

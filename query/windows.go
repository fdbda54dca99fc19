package query

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"time"

	"preismon/contracts"
)

// WindowsRequest requests which hours, days or weeks of a time have which rows,
// or in which of them these changed since a token. Its selectors and filters
// are those of a feed; see contracts/decisions/037-windows-to-sync.md.
type WindowsRequest struct {
	Since string
	// Rows is what the windows cover. A token holds it, and the bucket.
	Rows   ResultsRequest
	Bucket string // hour, day or week; empty: day
}

// WindowsQuery is a query to the store.
type WindowsQuery struct {
	Rows  ResultsQuery
	Edges []int64 // where the windows begin, and where the last one ends; ms
}

// Span is the time from the first edge to the last.
func (q *WindowsQuery) Span() contracts.Window {
	return contracts.Window{From: fromMs(q.Edges[0]), To: fromMs(q.Edges[len(q.Edges)-1] - 1)}
}

// WindowRows describes the rows of one window. A window without rows is absent.
type WindowRows struct {
	Bucket uint32 // from 1
	Rows   uint64
	Sum    uint64    // of the hashes of their positions
	Newest Watermark // newest of their positions
}

// States of a window.
const (
	WindowOpen   = "open"   // it has not ended
	WindowClosed = "closed" // few rows, if any, still arrive
)

// WindowRecord is a window as an answer shows it. Its bounds are those of a
// read of its rows: both are included.
type WindowRecord struct {
	CapturedFrom string `json:"capturedFrom" column:"instant"`
	CapturedTo   string `json:"capturedTo" column:"instant"`
	State        string `json:"state"`
	Rows         uint64 `json:"rows"`
	// Digest changes when a row is added to the window or removed from it.
	Digest string `json:"digest"`
}

// WindowsPage holds all windows, or those whose rows changed since a token.
type WindowsPage = Records[WindowRecord, WindowsEcho]

// WindowsEcho describes the request, and how to request what has changed since.
type WindowsEcho struct {
	CapturedFrom string  `json:"capturedFrom" column:"instant"`
	CapturedTo   *string `json:"capturedTo" column:"instant"` // null: open
	Timezone     string  `json:"timezone"`
	Bucket       string  `json:"bucket"`
	Windows      int     `json:"windows"` // changed or not
	AsOf         string  `json:"asOf"`
	Token        string  `json:"token"`
}

// windowsState is what a token of windows holds.
type windowsState struct {
	feedState
	Bucket string `json:"b"`
	AsOf   int64  `json:"n"` // ms
}

// windowBytes is roughly what a window takes, counted and shown.
const windowBytes = 600

func windowsBinding(p Principal) binding { return binding{Account: p.Account, Route: "windows"} }

// Windows returns how many rows each part of a time has, and a digest of them.
// With a token it returns the parts that have received rows since, and those
// that had not ended then. It counts in one statement, at most 1,000 parts.
func (s *Service) Windows(ctx context.Context, p Principal, r WindowsRequest) (page *WindowsPage, err error) {
	ctx, end := s.bounded(ctx, capturedBounds, &err)
	defer end()
	state, err := s.openWindows(p, r)
	if err != nil {
		return nil, err
	}
	now := s.now().UTC()
	a, err := s.authorize(ctx, p)
	if err != nil {
		return nil, err
	}
	plan, err := s.feedPlan(p, &state.feedState)
	if err != nil {
		return nil, err
	}
	edges, err := windowEdges(plan, state.Bucket, now)
	if err != nil {
		return nil, err
	}
	scope, err := s.feedScope(ctx, a.Visibility, plan.query.Selectors)
	if err != nil {
		return nil, err
	}
	since := state
	if r.Since == "" {
		if err := a.Visibility.kept(contracts.Window{From: fromMs(edges[0])}); err != nil {
			return nil, err
		}
		if err := settled(a.Visibility); err != nil {
			return nil, err
		}
		since.At = FeedPosition{}
		state.Generation, state.Scope = a.Generation, scope
	} else if err := state.checkContinuable(a, scope, state.restartAdvice); err != nil {
		return nil, err
	}
	plan.query.Watermark = a.Watermark
	if e := explaining(ctx); e != nil {
		return nil, s.explainWindows(ctx, e, &read{resultsPlan: plan, vis: a.Visibility}, edges)
	}
	giveBack, err := s.Charge(ctx, pageBlocks+int64(len(edges))*windowBytes)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	counted := make([]WindowRows, len(edges)-1)
	if !a.Visibility.Nothing() && !plan.query.nothing(a.Visibility) {
		found, err := s.store.Windows(ctx, a.Visibility, &WindowsQuery{Rows: plan.query, Edges: edges})
		if err != nil {
			return nil, err
		}
		for _, w := range found {
			counted[w.Bucket-1] = w
		}
	}
	page = &WindowsPage{Data: []WindowRecord{}}
	zone := newZoneFormat(plan.zone)
	for i, w := range counted {
		if r.Since != "" && w.Newest.Compare(since.At.mark()) <= 0 && edges[i+1] <= since.AsOf {
			continue
		}
		rec := WindowRecord{
			CapturedFrom: string(zone.append(nil, edges[i])), CapturedTo: string(zone.append(nil, edges[i+1]-1)),
			State: WindowClosed, Rows: w.Rows, Digest: s.rowIDs.digest(a.Visibility.Mandate, edges[i], w),
		}
		if edges[i+1] > now.UnixMilli() {
			rec.State = WindowOpen
		}
		page.Data = append(page.Data, rec)
	}
	state.At, state.AsOf = positionAfter(a.Watermark), now.UnixMilli()
	page.Query = WindowsEcho{
		CapturedFrom: formatInstant(plan.query.Window.From, plan.zone), CapturedTo: formatBound(plan.query.Window.To, plan.zone), Timezone: plan.echo.Timezone,
		Bucket: state.Bucket, Windows: len(counted), AsOf: formatInstant(now.Truncate(contracts.Resolution), plan.zone),
	}
	page.Query.Token, err = s.seal.sealCursor(windowsBinding(p), state)
	return page, err
}

// openWindows returns the state that a request continues, or begins with.
func (s *Service) openWindows(p Principal, r WindowsRequest) (state windowsState, err error) {
	if r.Since != "" {
		if r.Bucket != "" {
			return state, invalid("bucket: the token contains it. Leave it out.")
		}
		err = s.openSince(windowsBinding(p), r.Since, r.Rows, &state, state.restartAdvice)
		return state, err
	}
	state.Bucket = cmp.Or(r.Bucket, "day")
	switch {
	case !slices.Contains([]string{"hour", "day", "week"}, state.Bucket):
		return state, invalid("bucket: %q is none of hour, day, week.", r.Bucket)
	case r.Rows.CapturedFrom == "":
		return state, invalid("capturedFrom: missing. The first window begins there.")
	}
	state.feedState, err = s.beginFeed(p, FeedRequest{Rows: r.Rows})
	return state, err
}

// windowEdges divides the time of a plan. An open one is divided up to the end
// of the current part: captures dated later belong to windows to come.
func windowEdges(plan *resultsPlan, bucket string, now time.Time) ([]int64, error) {
	w := plan.query.Window
	if w.To.IsZero() {
		if w.From.After(now) {
			return nil, invalid("capturedFrom: lies in the future.")
		}
		w.To = steps[bucket](now.In(plan.zone)).Add(-contracts.Resolution)
	}
	return edgesOf(w.From, w.To, bucket, plan.zone)
}

// digest identifies the rows of a window of a mandate.
func (r rowIDs) digest(m contracts.MandateID, from int64, w WindowRows) string {
	h := hmac.New(sha256.New, r.key)
	h.Write([]byte("window"))
	for _, n := range []uint64{uint64(m), uint64(from), w.Rows, w.Sum} {
		h.Write(binary.BigEndian.AppendUint64(nil, n))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:rowIDBytes])
}

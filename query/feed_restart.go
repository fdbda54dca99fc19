package query

import (
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// restartAdvice describes how to begin a feed again, by the request that its token
// held.
func (state *feedState) restartAdvice() string {
	if state.Rule != nil {
		return "Begin again with GET /ext/v1/alerts?" + state.params().Encode() + ": alerts from before are not repeated."
	}
	p := state.params()
	switch {
	case !state.Rows.selectors().None():
	case state.global():
		p.Set("globalScope", "true")
	default: // the window was that of a stream without one, or is wider than a snapshot's may be
		p.Del("capturedFrom")
		p.Del("capturedTo")
	}
	at := "/v1/results/stream"
	if len(p) > 0 {
		at += "?" + p.Encode()
	}
	return "Read a new snapshot from GET " + at + " with Prefer: changes-token, and go on from its token."
}

// restartAdvice describes how to request the windows again.
func (state *windowsState) restartAdvice() string {
	p := state.params()
	p.Set("bucket", state.Bucket)
	return "Ask for the windows by GET /ext/v1/windows?" + p.Encode() + ", and read those whose digest is not the one you have."
}

// global reports whether a read of the whole scope may have the window.
func (state *feedState) global() bool {
	return state.From != openBound && state.To != openBound && fromMs(state.To).Sub(fromMs(state.From)) <= maxGlobalWindow
}

// params returns the parameters of the request that the state began with.
func (state *feedState) params() url.Values {
	p := url.Values{}
	for name, value := range state.Rows.Parameters() {
		p.Set(name, fmt.Sprint(value))
	}
	p.Del("globalScope") // whether a new one may have it depends on its window
	for name, ms := range map[string]int64{"capturedFrom": state.From, "capturedTo": state.To} {
		if ms != openBound {
			p.Set(name, formatInstant(fromMs(ms), time.UTC))
		}
	}
	state.ruled(p)
	return p
}

// ruled adds the rule of alerts.
func (state *feedState) ruled(p url.Values) {
	rule := state.Rule
	if rule == nil {
		return
	}
	p.Set("rule", string(rule.Kind))
	if rule.Currency != "" {
		p.Set("price", decimal(rule.Price, rule.Currency).String())
		p.Set("currencyCode", string(rule.Currency))
	}
	if rule.OwnMerchant != "" {
		p.Set("ownMerchant", rule.OwnMerchant)
	}
	if rule.SilentFor != 0 {
		p.Set("silentFor", fmt.Sprintf("%dh", rule.SilentFor/time.Hour))
	}
	for name, n := range map[string]int{"percent": rule.Percent, "confirm": rule.Confirm, "rearmPercent": rule.Rearm} {
		if n != 0 && (name != "confirm" || n != 1) {
			p.Set(name, strconv.Itoa(n))
		}
	}
}

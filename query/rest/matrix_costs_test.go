package rest_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
)

// TestHiddenCostsWhatNothingCosts: neither the work of the store nor the time
// distinguishes something hidden, however large, from something that does not
// exist.
func TestHiddenCostsWhatNothingCosts(t *testing.T) {
	effort.Full(t, "what hidden rows cost")
	l := serveMatrix(t, 150_000, func(set *settings) { set.query.RememberBytes = 0 }) // so much that reading it would be noticed, each time
	type question struct{ route, name string }
	names := map[question]bool{}
	for i, route := range matrixRoutes() {
		if strings.HasSuffix(route, "/stream") {
			continue // the same statements
		}
		v := matrix[route]
		if v.dear { // one of its names, for each route another one
			v.names = v.names[i%len(v.names):][:1]
		}
		for _, name := range v.names {
			names[question{route, name}] = true
		}
	}
	token := l.token(whole)
	type span struct{ from, to time.Time }
	during := func(q question, w pairIDs) (d span) {
		time.Sleep(2 * time.Millisecond)
		d.from = time.Now()
		l.ask(q.route, w, q.name, token)
		d.to = time.Now()
		return d
	}
	spans := map[question][2]span{}
	for q := range names {
		spans[q] = [2]span{during(q, theirs), during(q, nobodys)}
	}
	l.exec("SYSTEM FLUSH LOGS")
	logged := uint64(0)
	for q, pair := range spans {
		_, hidden := l.logged(pair[0].from, pair[0].to)
		_, none := l.logged(pair[1].from, pair[1].to)
		if d := int64(hidden) - int64(none); d > 20_000 || d < -20_000 {
			t.Errorf("%s: the hidden one reads %d rows, nothing %d", q, hidden, none)
		}
		logged += hidden + none
	}
	if logged == 0 {
		t.Error("what statements read is not seen")
	}
	for _, question := range []string{
		"/v1/sites site={site}", "/v1/items ean={ean}", "/v1/results itemId={item}", "/v1/results orderId={order}",
		"/v1/orders alias={alias}", "/v1/orders/{orderId} ", "/v1/orders/{orderId}/exports/history ",
	} {
		path, name, _ := strings.Cut(question, " ")
		// How often the hidden request takes longer, of all pairs of
		// measurements: half the time if nothing distinguishes them, whatever
		// else the machine does.
		for try, n := range []int{25, 100} {
			share := l.slower(theirs.fill(path, name), nobodys.fill(path, name), token, n)
			if share > 0.15 && share < 0.85 {
				break
			}
			if try > 0 {
				t.Errorf("%s: the hidden one takes longer in %.0f %% of the comparisons", question, 100*share)
			}
		}
	}
}

func (l *live) slower(a, b, token string, n int) float64 {
	l.t.Helper()
	client := l.raw()
	measure := func(path string) time.Duration {
		r := l.request("GET", path, token, nil)
		began := time.Now()
		resp := must.Get(client.Do(r))(l.t)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return time.Since(began)
	}
	var as, bs []time.Duration
	for i := range n + 3 {
		one, two := measure(a), measure(b)
		if i >= 3 { // the first ones warm up
			as, bs = append(as, one), append(bs, two)
		}
	}
	longer := 0
	for _, x := range as {
		for _, y := range bs {
			if x > y {
				longer++
			}
		}
	}
	return float64(longer) / float64(n*n)
}

package faults_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/equals"
)

// answering answers every request with a text.
type answering string

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// reads returns a reader of the first mandate that receives that answer to
// every request.
func (a answering) reads(l *ledger, found func(error)) *reader {
	r := newReader(1, l, func() string { return "http://127.0.0.1:1" }, 1, found)
	r.client, r.token = &http.Client{Transport: a}, "t"
	return r
}

// TestFaultChecksCanFail: the checks find what must never happen when it does.
func TestFaultChecksCanFail(t *testing.T) {
	is := func(err error, invariant string) bool {
		var f *finding
		return errors.As(err, &f) && f.invariant == invariant
	}
	l := newLedger(1)
	t.Run("a short file", func(t *testing.T) {
		r := answering("the whole").reads(l, nil)
		r.file = &file{content: []byte("the whole content")}
		if err := r.download(t.Context()); !is(err, "I5") {
			t.Error(err)
		}
	})
	t.Run("an answer that broke off", func(t *testing.T) {
		if _, err := answering(`{"data":[`).reads(l, nil).pages(t.Context(), 10); !is(err, "I5") {
			t.Errorf("a page: %v", err)
		}
		for _, c := range []struct {
			name    string
			ends    func(w http.ResponseWriter)
			finding bool
		}{
			{"ended as if all was well", func(http.ResponseWriter) {}, true},
			{"ended as complete", func(w http.ResponseWriter) { w.Header().Set("X-Results-Complete", "true") }, true},
			{"broken for its reader, too", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, false},
		} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Trailer", "X-Results-Complete, X-Results-Returned")
				_ = http.NewResponseController(w).Flush()
				w.Header().Set("X-Results-Returned", "0")
				c.ends(w)
			}))
			defer server.Close()
			r := answering("").reads(l, nil)
			r.client, r.base = server.Client(), func() string { return server.URL }
			r.seen[1] = &fact{at: r.since.Load()} // a row of an earlier answer
			if _, err := r.stream(t.Context()); is(err, "I5") != c.finding || !c.finding && !errors.Is(err, errRefused) {
				t.Errorf("a stream that is %s: %v", c.name, err)
			}
		}
	})
	t.Run("a tail", func(t *testing.T) {
		for text, invariant := range map[string]string{
			"": "I5", // it ended as if all was well
			`{"_control":"progress","upToDate":true}`:        "I5",
			`{"_control":"else","token":"t"}`:                "I5",
			"{\n{}\n":                                        "I5",
			`{}` + "\n" + `{"_control":"end","token":"t"}`:   "I3",
			`{"_control":"progress","token":"t"}` + "\n{}\n": "I5",
		} {
			r := answering(text).reads(l, nil)
			r.follower.all = r.begin()
			if _, err := r.tail(t.Context()); !is(err, invariant) {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
	t.Run("counts", func(t *testing.T) {
		r := answering(`{"data":[]}`).reads(l, nil)
		captures := map[capture]bool{{at: 1}: true}
		for name, err := range map[string]error{
			"statistics": r.statistics(t.Context(), captures), "windows": r.windows(t.Context(), 1), "lookup": r.lookup(t.Context(), captures),
		} {
			if !is(err, "I5") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("a row of a pair that was taken away", func(t *testing.T) {
		r := answering("").reads(l, nil)
		for l.extra(1, 0) == nil || len(l.extra(1, 0)) == 0 {
			l.next()
			l.acked = len(l.events)
		}
		add := func() error {
			for _, f := range l.extra(1, 0) {
				row := result{ItemID: f.item.String(), Site: string(f.site), CapturedAt: time.UnixMilli(f.at), Merchant: f.merchant}
				row.PriceMoney.AmountMinor = f.price
				return r.begin().add(&row)
			}
			return nil
		}
		if err := add(); !is(err, "I4") {
			t.Errorf("never granted: %v", err)
		}
		r.grants.begin()
		equals.NoError(t, add(), "granted")
		r.grants.end()
		time.Sleep(2 * time.Millisecond)
		if err := add(); !is(err, "I4") {
			t.Errorf("revoked: %v", err)
		}
	})
	t.Run("a foreign cursor that is good", func(t *testing.T) {
		var found error
		r := answering("{}").reads(l, func(err error) { found = err })
		if err := r.refusedWith(t.Context(), r.window()); err != nil || !is(found, "I4") {
			t.Error(err, found)
		}
	})
	t.Run("a revoked token that is accepted", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var found error
		k := &tokens{reader: answering("{}").reads(l, func(err error) { found = err; cancel() })}
		k.revoked = []revokedToken{{"t", time.Now().Add(-time.Minute)}}
		k.run(ctx, rand.New(rand.NewPCG(1, 1)))
		if !is(found, "I8") {
			t.Error(found)
		}
	})
	t.Run("a process that takes too much", func(t *testing.T) {
		for name, b := range bounds {
			for _, u := range []usage{{memory: b.memory + 1}, {threads: b.threads + 1}, {files: b.files + 1}} {
				if err := within(name, u); !is(err, "I9") {
					t.Errorf("%s of %s: %v", u, name, err)
				}
			}
			if err := within(name, b); err != nil {
				t.Error(err)
			}
		}
	})
}

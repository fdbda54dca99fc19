package faults_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

// answering answers every request with a text.
type answering string

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// reads gives a reader of the first mandate that gets that answer to all it asks.
func (a answering) reads(l *ledger, found func(error)) *reader {
	r := newReader(1, l, func() string { return "http://127.0.0.1:1" }, 1, found)
	r.client, r.token = &http.Client{Transport: a}, "t"
	return r
}

// TestFaultChecksCanFail: what must never be is found when it is.
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
		if err := add(); err != nil {
			t.Errorf("granted: %v", err)
		}
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

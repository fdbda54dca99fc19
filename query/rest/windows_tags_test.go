package rest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestWindowsAndTags: what a copy by days learns from the list of windows and
// from the ETags of its streams. The digest of a window is the same as long as
// its rows are, whoever asks. A stream of the same rows may have another tag each
// time, but an earlier one stays valid until a row of the window arrives, or what
// its rows show of the catalogue changes.
func TestWindowsAndTags(t *testing.T) {
	t.Parallel()
	l := serveMatrix(t, 3)
	arrived := 0
	arrive := func(ago time.Duration) {
		t.Helper()
		arrived++
		seq := uint64(liveMark + arrived)
		l.observe(1, l.row("numbers(1)", map[string]string{
			"item": "toUInt64(" + own["item"] + ")", "site": "'" + own["site"] + "'", "seq": fmt.Sprint(seq), "captured_at": l.at(-ago - time.Duration(arrived)*time.Second),
		}))
		l.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, ?, ?)", uint32(liveEpoch), seq)
	}
	const earlier, later = 75 * time.Hour, 50 * time.Hour // on two days that are over
	day := func() (w window) {
		t.Helper()
		at := l.now.Add(-earlier).UTC().Format(time.DateOnly)
		list := decode[windowList](t, l.get("/ext/v1/windows?site="+own["site"]+"&timezone=UTC&capturedFrom="+at, l.token(whole)))
		if w = list.Data[0]; w.State != "closed" {
			t.Fatalf("%+v", list)
		}
		return w
	}
	forgetful := l.node(t, l.db.QueryDSN, func(set *settings) { set.query.RememberStreamBytes = 0 })
	stream := func(at *surface, w window, fields, tag string) (status int, newTag string) {
		t.Helper()
		r := at.request("GET", "/v1/results/stream?site="+own["site"]+"&timezone=UTC&capturedFrom="+w.CapturedFrom+"&capturedTo="+w.CapturedTo+fields, l.token(whole), nil)
		r.Header.Set("Accept-Encoding", "identity")
		if tag != "" {
			r.Header.Set("If-None-Match", tag)
		}
		a := at.do(r)
		return a.StatusCode, a.Header.Get("ETag")
	}
	arrive(earlier)
	const priced = "&includeExportFields=true"
	first := day()
	_, plain := stream(forgetful, first, "", "")
	_, withPrices := stream(l.surface, first, priced, "")
	if first.Rows != 1 || plain == "" || withPrices == "" || plain == withPrices {
		t.Fatalf("%+v: %s, %s", first, plain, withPrices)
	}
	for _, s := range []struct {
		what              string
		change            func()
		digest            bool // it is the same
		plain, withPrices int
	}{
		{"nothing", func() {}, true, 304, 304},
		{"a row of another day", func() { arrive(later) }, true, 304, 304},
		{"a reference price", func() {
			l.exec("INSERT INTO reference_prices VALUES (1, " + own["item"] + ", [(200, 'EUR', '', '', '')], 2)")
			l.announced()
		}, true, 304, 200},
		{"a row of the day", func() { arrive(earlier) }, false, 200, 200},
	} {
		s.change()
		now := day()
		if (now.Digest == first.Digest) != s.digest {
			t.Errorf("%s: digest %s, before %s", s.what, now.Digest, first.Digest)
		}
		for _, node := range []*surface{l.surface, forgetful} { // any node knows
			if status, _ := stream(node, now, "", plain); status != s.plain {
				t.Errorf("%s: %d, want %d", s.what, status, s.plain)
			}
			if status, _ := stream(node, now, priced, withPrices); status != s.withPrices {
				t.Errorf("%s, with prices: %d, want %d", s.what, status, s.withPrices)
			}
		}
		if status, tag := stream(forgetful, now, "", ""); status != http.StatusOK || (tag == plain) != (s.what == "nothing") {
			t.Errorf("%s, read anew: %d, tag %s, before %s", s.what, status, tag, plain)
		}
	}
}

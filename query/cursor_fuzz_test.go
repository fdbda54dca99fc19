package query

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
)

// FuzzCursor: a text opens only if it is an unchanged cursor of ours, for the
// same account and query (choices 22); what was sealed into a cursor comes out
// of it.
func FuzzCursor(f *testing.F) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	s := must.Get(newSealer(func() time.Time { return now }, "0123456789abcdef0123456789abcdef"))(f)
	for _, text := range []string{
		"", "=", "AAAA", "null", "eyJ4IjoxfQ", "../..", "\x00", strings.Repeat("A", 4096), strings.Repeat("A", 5000), "a b", "%41",
		base64.RawURLEncoding.EncodeToString([]byte(`{"x":9999999999,"p":{"captured":1}}`)), base64.StdEncoding.EncodeToString(make([]byte, 40)),
	} {
		f.Add(text, uint64(1), "shop.example", int64(7), uint64(9))
	}
	f.Fuzz(func(t *testing.T, text string, account uint64, site string, captured int64, item uint64) {
		own := binding{Account: contracts.AccountID(account), Route: "results", Query: ResultsRequest{Site: contracts.SiteKey(site)}}
		want := Position{CapturedMs: captured, Item: contracts.ItemID(max(item, 1))}
		sealed := must.Get(s.sealCursor(own, want))(t)
		var got Position
		if err := s.openCursor(own, sealed, &got); err != nil || got != want {
			t.Fatalf("%+v came back as %+v, %v; sealed %q", want, got, err, sealed)
		}
		got = Position{}
		other := own
		other.Account++
		middle := min(len(text), len(sealed)/2)
		for cursor, b := range map[string]binding{
			text: own, sealed: other, sealed + text + "A": own, text + sealed[min(len(sealed), 1+len(text)):]: own, sealed[:middle] + text: own,
		} {
			if b == own && cursor == sealed {
				continue
			}
			if err := s.openCursor(b, cursor, &got); err == nil || fault.KindOf(err) != fault.Invalid || got != (Position{}) {
				t.Fatalf("%q opened for %+v: %+v, %v", cursor, b, got, err)
			}
		}
	})
}

package query

import (
	"encoding/base64"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// TestCursorOpensForItsOwnOnly edits, moves and ages a cursor: choices 22.
func TestCursorOpensForItsOwnOnly(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	s, err := newSealer(clock, "0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	own := binding{Account: 1, Route: "results", Query: ResultsRequest{Site: "a.example"}}
	cursor, err := s.sealCursor(own, Position{CapturedMs: 7, Item: 9})
	if err != nil {
		t.Fatal(err)
	}
	var got Position
	if err := s.openCursor(own, cursor, &got); err != nil || got != (Position{CapturedMs: 7, Item: 9}) {
		t.Fatalf("own cursor: %+v, %v", got, err)
	}
	limit := 5
	if err := s.openCursor(binding{Account: 1, Route: "results", Query: ResultsRequest{Site: "a.example", Limit: &limit, Cursor: cursor}}, cursor, &got); err != nil {
		t.Errorf("another limit: %v", err)
	}
	refused := func(what string, s *sealer, b binding, cursor string) {
		t.Helper()
		if err := s.openCursor(b, cursor, &got); fault.KindOf(err) != fault.Invalid || err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("another account", s, binding{Account: 2, Route: "results", Query: own.Query}, cursor)
	refused("another route", s, binding{Account: 1, Route: "items", Query: own.Query}, cursor)
	refused("another query", s, binding{Account: 1, Route: "results", Query: ResultsRequest{Site: contracts.SiteKey("b.example")}}, cursor)
	refused("empty", s, own, "")
	refused("no base64", s, own, "***")
	refused("short", s, own, "AAAA")
	refused("long", s, own, string(make([]byte, 1<<16)))
	raw, _ := base64.RawURLEncoding.DecodeString(cursor)
	for i := range raw {
		raw[i] ^= 1
		refused("a flipped bit", s, own, base64.RawURLEncoding.EncodeToString(raw))
		raw[i] ^= 1
	}
	other, err := newSealer(clock, "another key of at least 32 bytes!")
	if err != nil {
		t.Fatal(err)
	}
	refused("another key", other, own, cursor)
	rotated, err := newSealer(clock, "another key of at least 32 bytes!", "0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	if err := rotated.openCursor(own, cursor, &got); err != nil {
		t.Errorf("a key that verifies: %v", err)
	}
	fresh, err := rotated.sealCursor(own, Position{CapturedMs: 7, Item: 9})
	if err != nil {
		t.Fatal(err)
	}
	refused("the key before the new one", s, own, fresh)
	if err := other.openCursor(own, fresh, &got); err != nil {
		t.Errorf("the new key: %v", err)
	}
	now = now.Add(cursorLifetime)
	if err := s.openCursor(own, cursor, &got); err != nil {
		t.Errorf("after 30 days: %v", err)
	}
	now = now.Add(time.Second)
	refused("after 30 days and a second", s, own, cursor)
}

// Cursors that were made when they were bound to the spelling of their query
// are valid for as long as they were to be.
func TestCursorsOfBeforeOpen(t *testing.T) {
	now := time.Date(2026, 5, 30, 0, 0, 0, 0, time.UTC)
	seal, err := newSealer(func() time.Time { return now }, "0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	const (
		sites   = "RLcUkcgip-eW9FXfBX1II7hgl4aZaF-Sk0BYh_Bi2G2ZFkUTn6MFRgDodxxzcZnILoObfg6WLvVU1a9s"
		results = "Ep87bq4TAS0eXk7DW_TVet0TP7y6-93zu8mPUwmMnIO8Pp72tIAqsy0Urvpeo_iw_uHisOlEWav5t7PHCIAqC2j8YJcCY3x3lCO0qrZ0bRz5h1zJMyMD7euSmNzVA7yM" +
			"Nf6I0EnbUFf1UG1LvLDdhGoUITZ5i7veOgcA19aH4ekwo_eIrG2Bwl8qrInu3ft7rnfTD6BqcLxajXrnGVvIHLBbY4ufw8ao1z6i995COWA"
	)
	var after contracts.SiteKey
	if err := seal.openCursor(binding{Account: 1, Route: "sites", Query: SitesRequest{}}, sites, &after); err != nil || after != "a.example" {
		t.Errorf("%q, %v", after, err)
	}
	s := &Service{seal: seal, now: func() time.Time { return now }}
	r := ResultsRequest{Site: "a.example", CapturedFrom: "2026-04-01", Sort: "asc", Include: Include{Coverage: true}}
	plan, err := s.plan(Principal{Account: 1}, r)
	if err != nil {
		t.Fatal(err)
	}
	plan.cursor = results
	if err := s.resume(plan, Visibility{}, Watermark{}); err != nil || plan.query.After.CapturedMs != 1775000000000 || plan.query.Watermark != (Watermark{1, 9}) {
		t.Fatalf("%+v, %v", plan.query, err)
	}
	next, err := s.cursorAfter(plan, *plan.query.After) // from here on, the walk goes by its meaning
	if err != nil {
		t.Fatal(err)
	}
	r.CapturedFrom = "2026-04-01T00:00:00+02:00"
	if plan, err = s.plan(Principal{Account: 1}, r); err != nil {
		t.Fatal(err)
	}
	plan.cursor = next
	if err := s.resume(plan, Visibility{}, Watermark{}); err != nil {
		t.Error(err)
	}
	plan.cursor = results
	if err := s.resume(plan, Visibility{}, Watermark{}); err == nil {
		t.Error("an old cursor opens for another spelling")
	}
}

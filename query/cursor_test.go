package query

import (
	"encoding/base64"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// TestCursorOpensForItsOwnOnly edits, moves and ages a cursor: choices 22.
func TestCursorOpensForItsOwnOnly(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	s := must.Get(newSealer(clock, "0123456789abcdef0123456789abcdef"))(t)
	own := binding{Account: 1, Route: "results", Query: ResultsRequest{Site: "a.example"}}
	cursor := must.Get(s.sealCursor(own, Position{CapturedMs: 7, Item: 9}))(t)
	var got Position
	if err := s.openCursor(own, cursor, &got); err != nil || got != (Position{CapturedMs: 7, Item: 9}) {
		t.Fatalf("own cursor: %+v, %v", got, err)
	}
	limit := 5
	equals.NoError(t, s.openCursor(binding{Account: 1, Route: "results", Query: ResultsRequest{Site: "a.example", Limit: &limit, Cursor: cursor}}, cursor, &got), "another limit")
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
	other := must.Get(newSealer(clock, "another key of at least 32 bytes!"))(t)
	refused("another key", other, own, cursor)
	rotated := must.Get(newSealer(clock, "another key of at least 32 bytes!", "0123456789abcdef0123456789abcdef"))(t)
	equals.NoError(t, rotated.openCursor(own, cursor, &got), "a key that verifies")
	fresh := must.Get(rotated.sealCursor(own, Position{CapturedMs: 7, Item: 9}))(t)
	refused("the key before the new one", s, own, fresh)
	equals.NoError(t, other.openCursor(own, fresh, &got), "the new key")
	now = now.Add(cursorLifetime)
	equals.NoError(t, s.openCursor(own, cursor, &got), "after 30 days")
	now = now.Add(time.Second)
	refused("after 30 days and a second", s, own, cursor)
}

// TestNoCursorIsAFlag: each can be the value of a flag on a command line, which
// one that begins with "-" cannot.
func TestNoCursorIsAFlag(t *testing.T) {
	s := must.Get(newSealer(time.Now, "0123456789abcdef0123456789abcdef"))(t)
	for range 2000 {
		if cursor := must.Get(s.sealCursor(binding{}, nil))(t); cursor[0] == '-' {
			t.Fatal(cursor)
		}
	}
}

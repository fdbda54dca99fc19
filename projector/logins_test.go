package projector_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

func account(id contracts.AccountID, m contracts.MandateID, login string, disabled bool) *contracts.Account {
	return &contracts.Account{AccountID: id, MandateID: m, LoginIdentifier: login, PasswordHash: "$argon2id$", Disabled: disabled}
}

// TestLoginsOfOthers: a login belongs to the account that took it, until that
// account is disabled or has another login; an account belongs to its mandate
// until it is disabled. A record that would take either away is rejected,
// whether in one batch or in many, and also by a projector that starts over.
func TestLoginsOfOthers(t *testing.T) {
	records := []struct {
		a      *contracts.Account
		reason string // of its rejection; empty: accepted
	}{
		{account(1, 1, "x", false), ""},
		{account(2, 2, "x", false), `the login "x" belongs to account 1 of mandate 1`},
		{account(3, 1, "x", false), `the login "x" belongs to account 1 of mandate 1`},
		{account(1, 2, "z", false), "account 1 belongs to mandate 1 already"},
		{account(1, 2, "x", true), "account 1 belongs to mandate 1 already"},
		{account(4, 2, "x", true), ""}, // disabled: it takes no login
		{account(1, 1, "x", false), ""},
		{account(1, 1, "y", false), ""}, // x is free
		{account(2, 2, "x", false), ""},
		{account(1, 1, "x", false), `the login "x" belongs to account 2 of mandate 2`},
		{account(4, 2, "x", false), `the login "x" belongs to account 2 of mandate 2`},
		{account(2, 2, "x", true), ""}, // free again
		{account(1, 1, "x", false), ""},
		{account(2, 2, "x", false), `the login "x" belongs to account 1 of mandate 1`},
		{account(5, 1, "y", false), ""},
		{account(5, 1, "y", true), ""},
		{account(5, 3, "w", false), ""}, // an account that was disabled may move
	}
	const want = `[(1,1,'x',false),(2,2,'x',true),(4,2,'x',true),(5,3,'w',false)]`
	f := func(name string, each bool, restarts int) { // restarts after so many batches each
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var payloads []event.Payload
			for _, r := range records {
				payloads = append(payloads, r.a)
			}
			whole := w.catalog(payloads...)
			batches := []*event.Batch{whole}
			if each {
				batches = nil
				for _, m := range whole.Messages {
					batches = append(batches, &event.Batch{Stream: whole.Stream, Epoch: whole.Epoch, First: m.Seq, Last: m.Seq, Messages: []event.Message{m}})
				}
			}
			for n, b := range batches {
				var r *event.Rejected
				err := w.try(t.Context(), b)
				for ; errors.As(err, &r); err = w.try(t.Context(), b) {
					if due := records[r.Seq-1].reason; due == "" || !strings.Contains(r.Reason, due) {
						t.Errorf("record %d: %s, want %q", r.Seq, r.Reason, due)
					}
					b.Messages = slices.DeleteFunc(b.Messages, func(m event.Message) bool { return m.Seq == r.Seq })
				}
				must.Do(t, err)
				for _, m := range b.Messages {
					equals.Is(t, "", records[m.Seq-1].reason, "record %d was taken", m.Seq)
				}
				if n%restarts == restarts-1 {
					w.restart()
				}
			}
			var got string
			w.scan("SELECT toString(groupArray(tuple(account, mandate, login_identifier, disabled))) FROM (SELECT * FROM accounts FINAL ORDER BY account)", nil, &got)
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	f("one batch", false, 2)
	f("a batch each", true, 3)
}

// TestLoginsTakenTwice: when two accounts have the same login, written by an
// older program, each may be published again, but a third cannot take it; after
// one of them has another login, the usual rule applies.
func TestLoginsTakenTwice(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"1, 1", "2, 2"} {
		w.exec("INSERT INTO accounts (account, mandate, login_identifier, version) VALUES (" + id + ", 'x', 1)")
	}
	w.restart()
	for _, r := range []struct {
		a     *contracts.Account
		taken bool
	}{
		{account(1, 1, "x", false), true},
		{account(3, 3, "x", false), false},
		{account(2, 2, "x", false), true},
		{account(2, 2, "y", false), true},
		{account(2, 2, "x", false), false},
		{account(1, 1, "x", false), true},
	} {
		b := w.catalog(r.a)
		err := w.try(t.Context(), b)
		if taken := !errors.As(err, new(*event.Rejected)); taken != r.taken || (taken && err != nil) {
			t.Errorf("%+v: %v", r.a, err)
		}
		b.Messages = nil
		w.apply(b)
	}
}

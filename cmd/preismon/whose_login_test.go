package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/ingest/market"
)

// whoseLogin: an account published with the login of another, bypassing the
// publisher, becomes a dead letter with that reason; the rightful account can
// still log in, also after it was published again and, as rebuilt checks, after
// all tables were rebuilt. When the rightful account is disabled, the login is
// free.
func whoseLogin(t *testing.T, u *upProcess) (rebuilt func()) {
	t.Helper()
	b := u.bus(t)
	publish := func(data event.Payload, kind event.Kind) {
		t.Helper()
		b.send(t, &event.Event{ID: uuid.NewString(), Kind: kind, Producer: "somebody", ProducedAt: time.Now().UTC(), Data: data})
		waitApplied(t, b.conn.ConnectedUrl())
	}
	m, catalogue, _ := aMarket(t, market.Config{Seed: 3, Scale: 0.02}, time.Hour)
	known := m.Accounts()[0]
	var rightful *contracts.Account
	for _, e := range catalogue {
		if a, ok := e.Data.(*contracts.Account); ok && a.LoginIdentifier == known.LoginIdentifier {
			rightful = a
		}
	}
	taker := *rightful
	taker.AccountID, taker.MandateID = 424242, 4711
	publish(&contracts.Mandate{MandateID: rightful.MandateID, Name: "rightful", Package: contracts.Package{Name: "p", MaxItems: 5}}, event.KindMandate)
	publish(&contracts.Mandate{MandateID: taker.MandateID, Name: "taker", Package: contracts.Package{Name: "p", MaxItems: 5}}, event.KindMandate)
	publish(rightful, event.KindAccount)
	publish(&taker, event.KindAccount)
	mandate := func(when string, want contracts.MandateID) {
		t.Helper()
		if status, body := u.client().login(known.LoginIdentifier, known.Password).get("/v1/orders", nil); status != http.StatusOK {
			t.Errorf("%s: %d %s", when, status, body)
		}
		db := u.tables()
		equals.Is(t, uint64(want), number(t, db, "SELECT mandate FROM accounts FINAL WHERE NOT disabled AND login_identifier = '"+known.LoginIdentifier+"'"), "%s the login is of mandate, want %d", when, want)
	}
	mandate("beside the taker", rightful.MandateID)
	out, errs, code := inProcess(t, "deadletters", "list", "--json", "--data-dir", u.DataDir)
	if reason := "belongs to account " + rightful.AccountID.String() + " of mandate " + rightful.MandateID.String() + " already"; code != 0 || !strings.Contains(out, reason) {
		t.Errorf("exit code %d, no %q in:\n%s%s", code, reason, out, errs)
	}

	// Now the stream has the taker's message before that of the rightful one.
	publish(rightful, event.KindAccount)
	list := func() {
		t.Helper()
		out, errs, code := inProcess(t, "accounts", "list", "--data-dir", u.DataDir)
		if code != 0 || strings.Contains(out, "424242") || !strings.Contains(out, rightful.AccountID.String()) {
			t.Errorf("accounts list: exit code %d: %s%s", code, out, errs)
		}
	}
	list()
	return func() {
		t.Helper()
		mandate("after a rebuild", rightful.MandateID)
		list()
		gone := *rightful
		gone.Disabled = true
		publish(&gone, event.KindAccount)
		publish(&taker, event.KindAccount)
		mandate("after the rightful one was disabled", taker.MandateID)
	}
}

package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/ingest/market"
)

// textsInNFC: a letter with an accent is the same text as one code point or as
// two, in events and in requests.
func textsInNFC(t *testing.T, u *upProcess) {
	const composed, decomposed = "Müllers Café", "Mu\u0308llers Cafe\u0301"
	b := u.bus(t)
	publish := func(kind event.Kind, data event.Payload) {
		t.Helper()
		b.send(t, &event.Event{ID: uuid.NewString(), Kind: kind, Producer: "test", ProducedAt: time.Now().UTC(), Data: data})
	}
	m, catalogue, _ := aMarket(t, market.Config{Seed: 3, Scale: 0.02}, time.Hour)
	var account contracts.Account
	for _, e := range catalogue {
		if a, ok := e.Data.(*contracts.Account); ok && a.LoginIdentifier == m.Accounts()[0].LoginIdentifier {
			account = *a
		}
	}
	account.LoginIdentifier, account.MandateID = strings.ToLower(decomposed), 1
	account.Permissions, account.Scope = contracts.Permissions(), contracts.AccountScope{AllOrders: true, AllSites: true}
	now, price := time.Now().UTC().Truncate(time.Millisecond), int64(100)
	publish(event.KindSite, &contracts.Site{Site: "a.example", Name: "A", SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR"})
	publish(event.KindMandate, &contracts.Mandate{MandateID: 1, Name: "m", Package: contracts.Package{Name: "p", MaxItems: 9}})
	publish(event.KindAccount, &account)
	for i, text := range []string{composed, decomposed} {
		id := uint64(i + 1)
		item := contracts.ItemID(id)
		publish(event.KindItem, &contracts.Item{ItemID: item, Name: text, Brand: text, Manufacturer: text})
		publish(event.KindCustomerData, &contracts.CustomerData{MandateID: 1, ItemID: item, Category: text})
		publish(event.KindOrder, &contracts.Order{OrderID: contracts.OrderID(id), MandateID: 1, Alias: text, Name: text, Active: true, CreatedAt: now, Items: []contracts.ItemID{1, 2}, Sites: []contracts.SiteKey{"a.example"}})
		publish(event.KindExport, &contracts.FileJob{FileJobID: contracts.FileJobID(id), MandateID: 1, OrderID: 1, Name: text, CreatedAt: now})
		publish(event.KindExportArchive, &contracts.FileArchive{ArchiveID: contracts.ArchiveID(id), FileJobID: contracts.FileJobID(id), MandateID: 1, OrderID: 1, ArchivedAt: now, Files: []contracts.ArchivedFile{
			{Name: text, Filename: "f.csv", SizeBytes: 1, SHA256: strings.Repeat("a", 64)},
		}})
	}
	waitApplied(t, b.conn.ConnectedUrl())
	for i, text := range []string{composed, decomposed} {
		publish(event.KindObservations, &contracts.Observations{Site: "a.example", Observations: []contracts.Observation{{
			ItemID: contracts.ItemID(i + 1), CapturedAt: now.Add(-time.Minute), Outcome: contracts.PriceObserved,
			Offers: []contracts.Offer{{Merchant: text, Manufacturer: text, Price: &price, CurrencyCode: "EUR", Title: text}},
		}}})
	}
	waitApplied(t, b.conn.ConnectedUrl())
	for _, text := range []string{composed, decomposed} {
		c := u.client().login(text, m.Accounts()[0].Password)
		for path, name := range map[string]string{
			"/v1/results?orderId=1&latestPerPair=true&brand=":        "brand",
			"/v1/results?orderId=1&latestPerPair=true&manufacturer=": "manufacturer",
			"/v1/results?orderId=1&latestPerPair=true&merchant=":     "merchant",
			"/v1/orders?alias=":                        "alias",
			"/v1/orders/1/exports?exportName=":         "export",
			"/v1/orders/1/exports/history?exportName=": "exported",
			"/v1/orders/1/exports/history?name=":       "file",
		} {
			status, body := c.get(path+url.QueryEscape(text), nil)
			var page struct{ Data []json.RawMessage }
			if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK || len(page.Data) != 2 {
				t.Errorf("%s %+q: %d, %d rows, want 2: %.300s", name, text, status, len(page.Data), body)
			}
		}
	}
	of := u.agent(t, strings.ToLower(composed))
	for _, text := range []string{composed, decomposed} { // a category can be requested over MCP only
		answer, err := of.call("list_items", map[string]any{"category": text})
		var page struct{ Data []json.RawMessage }
		if err != nil || answer.failed || json.Unmarshal(answer.body, &page) != nil || len(page.Data) != 2 {
			t.Errorf("category %+q: %v %.300s", text, err, answer.body)
		}
	}
	exits(t, 0)(inProcess(t, "audit", "--content", "--data-dir", u.DataDir))
}

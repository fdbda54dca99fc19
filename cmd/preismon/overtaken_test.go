package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/contracts/fault"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
	"preismon/ingest/maps"
)

// newBus connects to a new server with the streams.
func newBus(t *testing.T) (b *bus, url string) {
	t.Helper()
	url = testserver.NATS(t)
	b = must.Get(connect(ingest.Config{URL: url, Name: t.Name()}))(t)
	t.Cleanup(b.conn.Close)
	must.Do(t, ingest.EnsureStreams(t.Context(), b.js, ingest.StreamConfig{}))
	return b, url
}

// state publishes a state of a record as another program does.
func (b *bus) state(t *testing.T, kind event.Kind, record event.Payload) {
	t.Helper()
	b.send(t, &event.Event{ID: uuid.NewString(), Kind: kind, Producer: "test", ProducedAt: time.Now().UTC(), Data: record})
}

// TestChangeOvertaken: a record that somebody else changes after it was read is
// not put back to what it was; the next try begins with what it is.
func TestChangeOvertaken(t *testing.T) {
	t.Parallel()
	b, url := newBus(t)
	named := func(name string) *contracts.Site {
		return &contracts.Site{Site: "a.example", Name: name, SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR"}
	}
	changed := func(before string, meanwhile func()) error {
		t.Helper()
		var c catalogueChange
		c.Bus.NATS.URL.Secret, c.Plan.Yes = contracts.Secret(url), true
		var key *string
		if before != "" {
			key = new("a.example")
		}
		var out, errs bytes.Buffer
		return change(t.Context(), &c, nil, streams{strings.NewReader(""), &out, &errs}, slog.New(slog.DiscardHandler), siteKind, key, func(_ *bus, site *contracts.Site) error {
			if site.Name != before {
				t.Errorf("the site is %+v, want %s", site, before)
			}
			meanwhile()
			*site = *named("ours")
			return nil
		})
	}
	nobody := func() {}
	somebody := func() { b.state(t, event.KindSite, named("theirs")) }
	is := func(want string) {
		t.Helper()
		if site, err := knownSite(t.Context(), b, "a.example"); err != nil || site.Name != want {
			t.Errorf("the site is %+v, want %s: %v", site, want, err)
		}
	}
	if err := changed("", somebody); err == nil || !strings.Contains(err.Error(), "somebody else changed it in the meantime") {
		t.Errorf("a new record: %v", err)
	}
	is("theirs")
	must.Do(t, changed("theirs", nobody))
	is("ours")
	if err := changed("ours", somebody); err == nil || !strings.Contains(err.Error(), "repeat the command") {
		t.Errorf("a known record: %v", err)
	}
	is("theirs")
	must.Do(t, changed("theirs", func() { // another record
		b.state(t, event.KindSite, &contracts.Site{Site: "b.example", Name: "B", SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR"})
	}))
	is("ours")
}

// TestImportKeepsPause: an import reads the orders after each file, so that one
// that was paused before stays so; if it is paused just then, the import fails.
func TestImportKeepsPause(t *testing.T) {
	t.Parallel()
	b, _ := newBus(t)
	pub := must.Get(ingest.NewPublisher(b.conn, ingest.PublisherConfig{}, slog.New(slog.DiscardHandler)))(t)
	defer pub.Close()
	r := &importRun{importCmd: &importCmd{Mandate: "Our shop"}, bus: b, pub: &publishing{Publisher: pub}}
	state := func(id contracts.OrderID, mandate string, active bool) *event.Event {
		return &event.Event{ID: uuid.NewString(), Kind: event.KindOrder, Producer: "test", ProducedAt: time.Now().UTC(), Data: &contracts.Order{
			OrderID: id, MandateID: maps.MandateID(mandate), Name: "Imported", Active: active, CreatedAt: time.Now().UTC().Truncate(time.Millisecond),
			Items: []contracts.ItemID{1}, Sites: []contracts.SiteKey{"a.example"},
		}}
	}
	standing := func() *maps.Standing {
		t.Helper()
		s := must.Get(r.standing(t.Context(), func(id contracts.ItemID) bool { return id == 1 }))(t)
		return s
	}
	orders := func(want ...bool) {
		t.Helper()
		got := standing().Orders
		if len(got) != len(want) || len(want) > 0 && got[1].Active != want[0] {
			t.Errorf("orders %v, want %v", got, want)
		}
	}
	orders()
	must.Do(t, r.publish(t.Context(), state(1, "Our shop", true)))
	orders(true) // also without a flush before
	b.send(t, state(1, "Our shop", false))
	b.send(t, state(2, "Their shop", true))
	if err := r.publish(t.Context(), state(1, "Our shop", true)); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "import the file again") {
		t.Errorf("a pause after the orders were read: %v", err)
	}
	orders(false)
	if s := standing(); !s.OthersItems[1] || !s.OthersSites["a.example"] {
		t.Error("the item and the site in the order of the other mandate are not known")
	}
	must.Do(t, r.publish(t.Context(), state(1, "Our shop", false)))
	orders(false)

	// The items that are wanted are read, and a site that changed since is kept.
	b.state(t, event.KindItem, &contracts.Item{ItemID: 1, Name: "Pen"})
	b.state(t, event.KindItem, &contracts.Item{ItemID: 2, Name: "Cup"})
	if items := standing().Items; len(items) != 1 || items[1] == nil || items[1].Name != "Pen" {
		t.Errorf("items %v", items)
	}
	site := &contracts.Site{Site: "a.example", Name: "theirs", SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR"}
	b.state(t, event.KindSite, site)
	ours := *site
	ours.Name = "ours"
	must.Do(t, r.publish(t.Context(), &event.Event{ID: uuid.NewString(), Kind: event.KindSite, Producer: "test", ProducedAt: time.Now().UTC(), Data: &ours}))
	if s := standing().Sites["a.example"]; s == nil || s.Name != "theirs" {
		t.Errorf("the site is %+v", s)
	}
}

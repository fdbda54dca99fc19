package maps

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
)

// packageItems is the item limit of the package that an imported mandate books.
// It is the same for every file, so that a second file never lowers it.
const packageItems = 10_000_000

// itemsPerOrder is how many items an order holds: an id takes at most 19
// digits, two quotes and a comma, and the rest of the record less than 4 KiB.
const itemsPerOrder = min(contracts.MaxItemsPerOrder, batchBytes/22)

// MandateID returns the id of the mandate that Import creates for a name.
func MandateID(name string) contracts.MandateID {
	return contracts.DeriveID[contracts.MandateID]("mandate", name)
}

// publishCatalog publishes sites, mandate, account, items and orders.
func (im *importer) publishCatalog(ctx context.Context) (err error) {
	if im.Standing != nil {
		if im.standing, err = im.Standing(ctx, im.book.has); err != nil {
			return fmt.Errorf("read the catalogue: %w", err)
		}
	}
	if err := im.checkOwnSite(); err != nil {
		return err
	}
	sites := slices.DeleteFunc(slices.Clone(im.book.ordered), func(s *site) bool { return s.rows == 0 })
	for _, s := range sites {
		if err := im.site(ctx, s); err != nil {
			return err
		}
	}

	mandate := &contracts.Mandate{MandateID: MandateID(im.Mandate), Name: im.Mandate, Package: contracts.Package{Name: "import", MaxItems: packageItems}}
	if err := im.record(ctx, event.KindMandate, mandate); err != nil {
		return err
	}
	account := &contracts.Account{
		AccountID: contracts.DeriveID[contracts.AccountID]("account", im.Mandate, im.Login), MandateID: mandate.MandateID,
		LoginIdentifier: im.Login, PasswordHash: im.PasswordHash, Permissions: contracts.Permissions(),
		Scope: contracts.AccountScope{AllOrders: true, AllSites: true},
	}
	if im.Known == nil {
		if err := im.record(ctx, event.KindAccount, account); err != nil {
			return err
		}
	}

	for _, it := range im.book.list {
		if it.rows == 0 {
			continue
		}
		if err := im.item(ctx, it.Item); err != nil {
			return err
		}
	}
	for _, s := range sites {
		if err := im.orders(ctx, s, mandate.MandateID); err != nil {
			return err
		}
	}
	return nil
}

// orders publishes the orders for the items that the site showed.
func (im *importer) orders(ctx context.Context, s *site, mandate contracts.MandateID) error {
	ids := make([]contracts.ItemID, 0, len(s.pairs))
	for id, p := range s.pairs {
		if p.rows > 0 {
			ids = append(ids, id)
		}
	}
	id := func(part int) contracts.OrderID {
		return contracts.DeriveID[contracts.OrderID]("order", im.Mandate, im.Mapping.Source, im.Label, string(s.Site.Site), strconv.Itoa(part))
	}
	shown := len(ids)
	for part := 1; im.standing.Orders[id(part)] != nil; part++ {
		for _, item := range im.standing.Orders[id(part)].Items {
			if p := s.pairs[item]; p == nil || p.rows == 0 {
				ids = append(ids, item)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	im.sum.Gone += len(ids) - shown
	// The last part first: items only move to later parts. If this import ended
	// between two parts, an item that was in none of them would be missing from
	// later imports.
	parts := slices.Collect(slices.Chunk(ids, itemsPerOrder))
	for i, items := range slices.Backward(parts) {
		part := i + 1
		name := "Imported: " + string(s.Site.Site)
		if part > 1 {
			name += fmt.Sprintf(" (part %d)", part)
		}
		order := &contracts.Order{
			OrderID:   id(part),
			MandateID: mandate, Name: name, Active: true, CreatedAt: time.UnixMilli(s.earliest).UTC(),
			Items: items, Sites: []contracts.SiteKey{s.Site.Site},
		}
		if standing := im.standing.Orders[order.OrderID]; standing != nil { // keeping what others changed in it
			changed := *standing
			changed.Items = items
			if order.CreatedAt.Before(changed.CreatedAt) {
				changed.CreatedAt = order.CreatedAt
			}
			order = &changed
		}
		im.sum.Orders++
		if err := im.record(ctx, event.KindOrder, order); err != nil {
			return err
		}
	}
	return nil
}

// record publishes a catalogue record. Its id is derived from its content and
// from when this import began: a state that stood before, and is imported again
// after another one, is no duplicate of what the stream remembers.
func (im *importer) record(ctx context.Context, kind event.Kind, data event.Payload) error {
	b, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	at := im.now.UTC().AppendFormat(nil, time.RFC3339Nano)
	sum := sha256.Sum256(slices.Concat([]byte("preismon import "+string(kind)+" 2\x00"), at, []byte{0}, b))
	return im.send(ctx, &event.Event{ID: uuidOf(sum), Kind: kind, Producer: Producer, ProducedAt: im.now, Data: data})
}

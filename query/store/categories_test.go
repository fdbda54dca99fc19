package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// categorized is a world in which items have categories, in two mandates and
// several versions.
func categorized(t *testing.T) *world {
	w := newWorld(t, 5, 0)
	w.exec("INSERT INTO customer_data VALUES (1, 1, 'Old', {}, 1), (1, 5, 'Old', {}, 1)")
	w.exec(`INSERT INTO customer_data VALUES (1, 1, 'Garden', {}, 2), (1, 2, 'Toys', {}, 2), (1, 3, '', {'category': 'Field'}, 2), (1, 4, 'Toys', {}, 2),
		(1, 5, 'it''s \\ Übrig', {}, 2), (1, 6, 'Beyond', {}, 2), (2, 4, 'Theirs', {}, 2), (2, 6, 'Secret', {}, 2)`)
	return w
}

func (w *world) items(a contracts.AccountID, r query.ItemsRequest) (*query.Page[contracts.Item], error) {
	return w.service.Items(w.t.Context(), query.Principal{Account: a}, r)
}

// TestCategories filters items by the categories that each account sees, and
// lists them.
func TestCategories(t *testing.T) {
	w := categorized(t)
	w.reports()
	t.Run("filter", func(t *testing.T) { w.filterByCategory(t) })
	t.Run("discover", func(t *testing.T) { w.discoverCategories(t) })
}

// discoverCategories lists the categories of the items that each account sees,
// in order, each once: TOOL-03a, TOOL-03b, TOOL-03c, TOOL-03d.
func (w *world) discoverCategories(t *testing.T) {
	odd := "it's \\ Übrig"
	for account, want := range map[contracts.AccountID][]string{
		accountWhole: {"Garden", "Toys", odd},
		accountOrder: {"Toys", odd},
		accountSites: {"Garden", "Toys", odd},
		accountNone:  {},
		accountOther: {"Secret", "Theirs"},
	} {
		for _, r := range []query.ItemsRequest{{DiscoverCategories: true}, {DiscoverCategories: true, ItemID: 3}} {
			page, err := w.items(account, r)
			if err != nil {
				t.Fatalf("account %d: %v", account, err)
			}
			equals.Checkf(t, &query.Search{AvailableCategories: want}, page.Search, "account %d, %+v", account, r)
		}
	}
	w.exec("INSERT INTO customer_data VALUES (2, 4, '', {}, 3), (2, 6, '', {}, 3)") // none is usable any more
	page := must.Get(w.items(accountOther, query.ItemsRequest{DiscoverCategories: true, Limit: ptr(1)}))(t)
	body, err := json.Marshal(page.Search)
	if err != nil || string(body) != `{"availableCategories":[]}` || len(page.Data) != 1 {
		t.Errorf("%s, %d items, %v", body, len(page.Data), err)
	}
}

// filterByCategory filters by a category alone and together with identifiers; a
// category that no visible item has is refused: TOOL-03a, TOOL-03c, TOOL-03d,
// ERR-18, VIS-02.
func (w *world) filterByCategory(t *testing.T) {
	const refused = "refused"
	for _, c := range []struct {
		account contracts.AccountID
		r       query.ItemsRequest
		want    string
	}{
		{accountWhole, query.ItemsRequest{Category: "Toys"}, "[2 4]"},
		{accountWhole, query.ItemsRequest{Category: "it's \\ Übrig"}, "[5]"},
		{accountOrder, query.ItemsRequest{Category: "Toys"}, "[4]"},
		{accountWhole, query.ItemsRequest{Category: "Toys", EAN: "4006381333931"}, "[2]"},
		{accountWhole, query.ItemsRequest{Category: "Toys", ItemID: 1}, "[]"}, // available, but not here
		{accountWhole, query.ItemsRequest{Category: "Toys", ItemID: 1, DiscoverCategories: true}, "[]"},
		{accountOrder, query.ItemsRequest{Category: "Garden"}, refused}, // the mandate has it, the account does not
		{accountWhole, query.ItemsRequest{Category: "Beyond"}, refused}, // an item outside the scope has it
		{accountWhole, query.ItemsRequest{Category: "Secret"}, refused}, // another mandate's
		{accountWhole, query.ItemsRequest{Category: "Theirs"}, refused}, // another mandate's, for an item of both
		{accountWhole, query.ItemsRequest{Category: "Old"}, refused},    // from a record that was replaced
		{accountWhole, query.ItemsRequest{Category: "Field"}, refused},  // a field of that name is not a category
		{accountWhole, query.ItemsRequest{Category: "toys"}, refused},
		{accountWhole, query.ItemsRequest{Category: "Nope", DiscoverCategories: true}, refused},
		{accountNone, query.ItemsRequest{Category: "Toys"}, refused},
	} {
		page, err := w.items(c.account, c.r)
		var got string
		var f *fault.Error
		switch {
		case err == nil:
			ids := []contracts.ItemID{}
			for _, i := range page.Data {
				ids = append(ids, i.ItemID)
			}
			got = fmt.Sprint(ids)
			if (page.Search != nil) != c.r.DiscoverCategories {
				t.Errorf("%+v: search %v", c.r, page.Search)
			}
		case errors.As(err, &f) && f.Kind == fault.Invalid && f.Code == query.CodeCategoryNotAvailable:
			got = refused
		default:
			t.Fatalf("%+v: %v", c.r, err)
		}
		if got != c.want {
			t.Errorf("account %d, %+v: got %s, want %s", c.account, c.r, got, c.want)
		}
	}
	page, err := w.items(accountWhole, query.ItemsRequest{Category: "Toys", Limit: ptr(1)})
	if err != nil || page.Paging.NextCursor == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	for _, r := range []query.ItemsRequest{{}, {Category: "Garden"}, {Category: "Toys", DiscoverCategories: true}} { // a cursor belongs to its category
		r.Cursor = page.Paging.NextCursor
		if _, err := w.items(accountWhole, r); err == nil {
			t.Errorf("the cursor of Toys opens %+v", r)
		}
	}
	page, err = w.items(accountWhole, query.ItemsRequest{Category: "Toys", Limit: ptr(1), Cursor: page.Paging.NextCursor})
	if err != nil || len(page.Data) != 1 || page.Data[0].ItemID != 4 || page.Paging.NextCursor != "" {
		t.Errorf("second page: %+v, %v", page, err)
	}
}

// TestManyCategories has 1,000 and 1,001 categories: the list is complete or
// refused, and a filter needs no list: TOOL-03a, ERR-13.
func TestManyCategories(t *testing.T) {
	w := newWorld(t, 5, 0)
	w.exec("INSERT INTO items SELECT 1000 + number, '', '', '', '', '', '', '', 1 FROM numbers(1001)")
	w.exec("INSERT INTO scope_pairs SELECT 1, 7, 1000 + number, 'alpha.example', [101] FROM numbers(1001)")
	w.exec("INSERT INTO customer_data SELECT 1, 1000 + number, concat('c', leftPad(toString(number), 4, '0')), map(), 1 FROM numbers(1000)")
	page := must.Get(w.items(accountWhole, query.ItemsRequest{DiscoverCategories: true, Limit: ptr(1)}))(t)
	if all := page.Search.AvailableCategories; len(all) != 1_000 || !slices.IsSorted(all) || all[0] != "c0000" || all[999] != "c0999" {
		t.Errorf("%d categories: %v", len(all), all)
	}
	w.exec("INSERT INTO customer_data VALUES (1, 2000, 'c1000', map(), 1)")
	_, err := w.items(accountWhole, query.ItemsRequest{DiscoverCategories: true})
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != query.CodeItemTooBroad {
		t.Errorf("1,001 categories: %v", err)
	}
	page, err = w.items(accountWhole, query.ItemsRequest{Category: "c1000"})
	if err != nil || len(page.Data) != 1 || page.Data[0].ItemID != 2000 {
		t.Errorf("%+v, %v", page, err)
	}
}

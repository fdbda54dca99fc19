package store_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// lookedUp is an entry as callers get it.
type lookedUp struct {
	Asked       query.LookupKey
	Known, Seen bool
	Items       []string
	NoResult    []struct{ ItemID, Site string }
	Latest      []answer
}

func (w *world) lookup(a contracts.AccountID, keys []query.LookupKey) (all []lookedUp, echo query.LookupEcho, err error) {
	l, err := w.service.Lookup(w.t.Context(), query.Principal{Account: a}, query.LookupRequest{Keys: keys})
	if err != nil {
		return nil, echo, err
	}
	defer l.Release()
	err = json.Unmarshal([]byte("["+string(bytes.Join(l.Entries, nil))+"]"), &all)
	return all, l.Query, err
}

// TestLookup compares lookups of random identifiers, some repeated, some
// unknown, with a look at every row: in the requested order, and up to the
// watermark.
func TestLookup(t *testing.T) {
	w := newWorld(t, 171, 14)
	w.reports()
	seen := w.rows
	r := rand.New(rand.NewPCG(17, 1))
	w.insert(r, 50, 0) // beyond the watermark
	var choices []query.LookupKey
	for id := contracts.ItemID(1); id <= 8; id++ {
		choices = append(choices, query.LookupKey{ItemID: id})
	}
	for ean := range itemEANs {
		choices = append(choices, query.LookupKey{EAN: ean})
	}
	choices = append(choices, query.LookupKey{PZN: "12345678"}, query.LookupKey{ASIN: "B000000001", ASINLocale: "de"})
	items := func(k query.LookupKey) []uint64 {
		if k.EAN != "" {
			return itemEANs[k.EAN]
		}
		if k.ItemID >= 1 && k.ItemID <= 6 {
			return []uint64{uint64(k.ItemID)}
		}
		return nil
	}
	known, unobserved := 0, 0
	for _, a := range []contracts.AccountID{accountWhole, accountOrder, accountSites, accountNone, accountOther} {
		rows := w.oracle(a, query.ResultsRequest{LatestPerPair: true}, math.MinInt64, math.MaxInt64, seen)
		slices.SortFunc(rows, func(a, b obsRow) int { return cmp.Or(cmp.Compare(a.item, b.item), cmp.Compare(a.site, b.site)) })
		sees := map[uint64]bool{}
		for id := range uint64(7) {
			for _, s := range worldSites {
				sees[id] = sees[id] || w.sees(a, contracts.Pair{Item: contracts.ItemID(id), Site: contracts.SiteKey(s)})
			}
		}
		for range 4 {
			keys := make([]query.LookupKey, 1+r.IntN(20))
			want, echo := make([]lookedUp, len(keys)), query.LookupEcho{Asked: len(keys), Timezone: "UTC"}
			for i := range keys {
				keys[i] = choices[r.IntN(len(choices))]
				want[i].Asked = keys[i]
				for _, id := range items(keys[i]) {
					if !sees[id] {
						continue
					}
					want[i].Known, want[i].Items = true, append(want[i].Items, fmt.Sprint(id))
					for _, site := range slices.Sorted(slices.Values(worldSites)) {
						pair := contracts.Pair{Item: contracts.ItemID(id), Site: contracts.SiteKey(site)}
						if w.sees(a, pair) && !slices.ContainsFunc(rows, func(r obsRow) bool { return r.item == id && string(r.site) == site }) {
							want[i].NoResult = append(want[i].NoResult, struct{ ItemID, Site string }{fmt.Sprint(id), site})
							unobserved++
						}
					}
					for _, row := range rows {
						if row.item == id {
							want[i].Seen, want[i].Latest = true, append(want[i].Latest, expected([]obsRow{row})...)
						}
					}
				}
				if want[i].Known {
					known++
					echo.Known++
				}
				if want[i].Seen {
					echo.Seen++
				}
			}
			got, gotEcho, err := w.lookup(a, keys)
			must.Do(t, err)
			if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()) + gocmp.Diff(echo, gotEcho); diff != "" {
				t.Fatalf("account %s (-want +got):\n%s", a, diff)
			}
		}
	}
	if known < 40 || unobserved < 8 {
		t.Errorf("only %d identifiers were known, with %d pairs without a row", known, unobserved)
	}
	if _, _, err := w.lookup(accountWhole, nil); err == nil || fault.KindOf(err) != fault.Invalid {
		t.Errorf("no identifiers: %v", err)
	}
}

package main

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

func TestEAN13(t *testing.T) {
	f := func(twelve uint64, want string) {
		t.Helper()
		equals.Is(t, want, ean13(twelve), "ean13(%d) =", twelve)
	}
	f(400_638_133_393, "4006381333931")
	f(1_234_567_890, "0012345678905")
	f(590_123_412_345, "5901234123457")
}

// TestMakeImport: the file has a row for each product, shop and day, and the rows
// of a product are next to each other.
func TestMakeImport(t *testing.T) {
	name, days := filepath.Join(t.TempDir(), "made.csv.gz"), 3
	must.Do(t, makeImport(name, days))
	f := must.Get(os.Open(name))(t)
	defer f.Close() //nolint:errcheck // it was read
	unpacked := must.Get(gzip.NewReader(bufio.NewReader(f)))(t)
	rows := must.Get(csv.NewReader(unpacked).ReadAll())(t)
	if want := 1 + days*(importProducts+(len(importShops)-1)*importOfShop); len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	seen, last := map[string]int{}, ""
	for _, row := range rows[1:] {
		product := row[1] + " " + row[2]
		if seen[product]++; seen[product] > 1 && product != last {
			t.Fatalf("%s has rows in two places", product)
		}
		last = product
	}
	for product, n := range seen {
		if n != days {
			t.Fatalf("%s has %d rows, want %d", product, n, days)
		}
	}
}

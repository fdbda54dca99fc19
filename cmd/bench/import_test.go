package main

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"
)

func TestEAN13(t *testing.T) {
	f := func(twelve uint64, want string) {
		t.Helper()
		if got := ean13(twelve); got != want {
			t.Errorf("ean13(%d) = %s, want %s", twelve, got, want)
		}
	}
	f(400_638_133_393, "4006381333931")
	f(1_234_567_890, "0012345678905")
	f(590_123_412_345, "5901234123457")
}

// TestMakeImport: the file has a row for each product, shop and day, and the rows
// of a product are next to each other.
func TestMakeImport(t *testing.T) {
	name, days := filepath.Join(t.TempDir(), "made.csv.gz"), 3
	must(t, makeImport(name, days))
	f, err := os.Open(name)
	must(t, err)
	defer f.Close() //nolint:errcheck // it was read
	unpacked, err := gzip.NewReader(bufio.NewReader(f))
	must(t, err)
	rows, err := csv.NewReader(unpacked).ReadAll()
	must(t, err)
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

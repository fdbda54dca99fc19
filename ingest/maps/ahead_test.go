package maps_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
	"preismon/ingest/maps"
)

// TestReadingAheadEnds: whoever stops in the middle of a file, by choice or
// because the context ended, leaves nobody behind who reads it.
func TestReadingAheadEnds(t *testing.T) {
	var text strings.Builder
	text.WriteString("site,sku,price,at\n")
	for i := range 20_000 {
		fmt.Fprintf(&text, "shop.de,%d,1.20,2026-03-01\n", i)
	}
	file := filepath.Join(t.TempDir(), "x.csv")
	must.Do(t, os.WriteFile(file, []byte(text.String()), 0o600))
	m := must.Get(maps.ParseMapping([]byte("source: s\ncolumns: {site: site, productKey: sku, price: price, capturedAt: {column: at, zone: UTC}}\ndefaultSite: {type: shop, country: DE, currency: EUR}\n")))(t)
	before := runtime.NumGoroutine()
	for range 50 {
		must.Get(maps.Preview(file, m, guessNow))(t)
		ctx, cancel := context.WithCancel(t.Context())
		last := maps.Progress{}
		_, err := maps.Check(ctx, maps.Request{File: file, Mapping: m, Progress: func(p maps.Progress) {
			if last = p; p.Bytes > 0 {
				cancel()
			}
		}})
		cancel()
		if !errors.Is(err, context.Canceled) || last.Pass != 1 || last.Bytes <= 0 {
			t.Fatalf("%+v, %v", last, err)
		}
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

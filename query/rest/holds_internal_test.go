package rest

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table/objects"
)

// discarded is a client that reads everything at once.
type discarded struct {
	gin.ResponseWriter
	header http.Header
}

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) WriteHeader(int)             {}
func (d discarded) WriteHeaderNow()             {}
func (d discarded) Flush()                      {}

// liveBytes returns what is reachable; what pools keep is gone after two
// collections.
func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// exportLines returns rows with every field that a shop's row can have; within
// a few thousand, no two are the same. long: with the longest texts that repeat.
func exportLines(n, from int, long bool) []byte {
	merchant, delivery := "Merchant ", "within "
	if long {
		merchant, delivery = strings.Repeat("m", 252), strings.Repeat("d", 504)
	}
	var b bytes.Buffer
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, `{"itemId":"%d","site":"shop-%d.example","capturedAt":"2026-01-01T%02d:%02d:%02d.%03dZ","availability":"available","price":%d.25,"priceMoney":{"value":%d.25,"amountMinor":%d25,"currencyCode":"EUR"},"currencyCode":"EUR","merchant":"%s%d",`,
			1_000_000+i*7919%5000, i%40, i/3600%24, i/60%60, i%60, i%1000, i%900, i%900, i%900, merchant, i%3000)
		fmt.Fprintf(&b, `"productUrl":"https://shop-%d.example/a/path/to/an/offer/%d?variant=%d","offerTitle":"A title that tells things apart, number %d of %d","shippingCost":4.95,"shippingCostMoney":{"value":4.95,"amountMinor":495,"currencyCode":"EUR"},"totalPrice":null,"totalPriceMoney":null,"deliveryText":"%s%d days","customerReferencePrices":[]}`+"\n",
			i%40, i*7919, i%7, i*104729, i, delivery, i%30)
	}
	return b.Bytes()
}

// sending builds and sends batches as a stream does.
type sending struct{ tableTransfer }

func (s sending) Write(rows *frame.Batch) error {
	text, err := s.Encode(rows)
	if err != nil {
		return err
	}
	return s.Send(text, rows.Len)
}

func (s sending) Close() error { return nil }

// A stream's encoder, or its unfinished table, holds what is charged for it and
// not several times as much: uncounted memory is taken from others, and memory
// counted in vain turns readers away.
func TestEncodersHoldWhatIsCharged(t *testing.T) {
	for _, of := range []struct {
		form   *form
		coding string
		long   bool
	}{
		{&ndjsonForm, "zstd", false},
		{&ndjsonForm, "gzip", false},
		{&csvForm, "", false},
		{&csvForm, "", true},
		{arrowForms[0], "", false},
		{arrowForms[0], "", true},
		{arrowForms[3], "", false},
		{arrowForms[3], "", true},
		{arrowForms[4], "", false}, // zstd
		{arrowForms[4], "", true},
		{arrowForms[5], "", false},
		{arrowForms[5], "", true},
		{&parquetForm, "", false},
		{&parquetForm, "", true},
	} {
		t.Run(fmt.Sprint(of.form.media, of.coding, of.long), func(t *testing.T) {
			s := &transfer{
				w: discarded{header: http.Header{}}, form: of.form, request: query.ResultsRequest{Include: query.Include{ExportFields: true}}, coding: of.coding,
				work: func(f func() error) error { return f() }, good: func() error { return nil },
			}
			const chunks = 200 // of 128 KiB
			lines := make([][]byte, 30)
			for i := range lines {
				lines[i] = exportLines(190, 190*i, of.long)
			}
			before, peak := liveBytes(), int64(0)
			must.Do(t, s.Start("all"))
			send := func(lines []byte) error { return s.Send(lines, 190) }
			if s.table != nil {
				rows, bytes := 8192, 2<<20 // as the service builds them
				if s.form.flat {
					rows, bytes = 1024, 256<<10
				}
				if of.long {
					rows = bytes / (256 + 512 + 14) // with the site
				}
				batches := objects.Batches(sending{tableTransfer{s}}, s.form.columns(query.Columns(s.request.Include.Fields())), rows)
				send = batches.Write
			}
			for i := range chunks {
				must.Do(t, send(lines[i%len(lines)]))
				if i%20 == 19 {
					peak = max(peak, liveBytes())
				}
			}
			charged := s.Holds()
			s.discard()
			most := peak - min(before, liveBytes()) // other tests may let go of something only now
			t.Logf("%d KiB, charged %d", most>>10, charged>>10)
			if most > charged || most < charged/4 {
				t.Errorf("it holds %d KiB, and %d are charged", most>>10, charged>>10)
			}
			runtime.KeepAlive(lines)
		})
	}
}

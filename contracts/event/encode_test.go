package event_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
)

// sameBytes compares Encode with encoding/json.
func sameBytes(tb rapid.TB, e *event.Event) {
	tb.Helper()
	got, err := event.Encode(e)
	want, wantErr := event.EncodeAny(e)
	if (err != nil) != (wantErr != nil) || !bytes.Equal(got, want) {
		tb.Fatalf("got  %s (%v)\nwant %s (%v)", got, err, want, wantErr)
	}
}

func TestEncodeGivesTheBytesOfEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { sameBytes(t, anyEvent(t)) })

	for c := range rune(0x3000) { // every escape, at every position of eight bytes
		if c > 0x100 && c&^0xff != 0x2000 && effort.Often(0, 1) == 0 {
			continue
		}
		e := samples()[0]
		o := e.Data.(*contracts.Observations).Observations[0].Offers
		o[0].Title = strings.Repeat("x", int(c)%9) + string(c) + "y"
		o[0].Rating, o[0].Shipping, o[1].Rating = contracts.Rating(string(c)), nil, "4,5"
		sameBytes(t, e)
	}
	e := samples()[0]
	batch := e.Data.(*contracts.Observations)
	batch.Observations[0].CapturedAt = batch.Observations[0].CapturedAt.In(time.FixedZone("", -5*3600-1800)).Add(time.Nanosecond)
	batch.Observations[0].Offers = append(batch.Observations[0].Offers, contracts.Offer{}, contracts.Offer{IsPrime: 7})
	sameBytes(t, e)
	batch.Observations[0].CapturedAt = batch.Observations[0].CapturedAt.In(time.FixedZone("", 25*3600))
	sameBytes(t, e) // an error: no such zone
}

func FuzzEncode(f *testing.F) {
	f.Add("Händler", "4.5", "https://shop.example/?a=<b>&c=\"d\"", "\u2028 \\ \x7f\b\f\n\r\t\x00", int64(1299), int64(1_770_000_000_000_000_000))
	f.Fuzz(func(t *testing.T, merchant, rating, url, text string, price, at int64) {
		for _, s := range []string{merchant, rating, url, text} {
			if !utf8.ValidString(s) {
				t.Skip("no text of an event")
			}
		}
		e := samples()[0]
		batch := e.Data.(*contracts.Observations)
		batch.Run = text
		batch.Observations[0].CapturedAt = time.Unix(0, at).UTC()
		batch.Observations[0].Offers = append(batch.Observations[0].Offers, contracts.Offer{
			Merchant: merchant, Price: &price, CurrencyCode: "EUR", Rating: contracts.Rating(rating), Manufacturer: text + merchant, Title: text + url, URL: url, DeliveryText: text,
		})
		if e.Validate() != nil {
			t.Skip("no valid event")
		}
		sameBytes(t, e)
	})
}

// Encoding a batch costs one allocation for the bytes and a constant number for
// its checks, and decoding it a number that does not grow with its captures:
// offers, amounts and unescaped texts are allocated in slabs.
func TestAllocationsArePerBatchNotPerOffer(t *testing.T) {
	per := func(n int) (encode, decode float64) {
		e := samples()[0]
		batch := e.Data.(*contracts.Observations)
		batch.Observations = slices.Repeat(batch.Observations[:1], n)
		b, err := event.Encode(e)
		must.Do(t, err)
		encode = testing.AllocsPerRun(20, func() { _, err = event.Encode(e) })
		must.Do(t, err)
		decode = testing.AllocsPerRun(20, func() { _, err = event.Decode(b) })
		must.Do(t, err)
		return encode, decode
	}
	encodeOne, decodeOne := per(1)
	if encode, decode := per(500); encode > encodeOne+2 || decode > decodeOne+12 {
		t.Errorf("allocations for one capture: %v and %v, for 500: %v and %v", encodeOne, decodeOne, encode, decode)
	}
}

package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"preismon/contracts"
)

// envelope is the event's JSON form.
type envelope struct {
	Version    int       `json:"version"`
	EventID    string    `json:"eventId"`
	Kind       Kind      `json:"kind"`
	Producer   string    `json:"producer,omitempty"`
	ProducedAt time.Time `json:"producedAt"`
	Data       Payload   `json:"data"`
}

// Encode validates the event and returns its JSON form, on one line. The bytes
// are those of encoding/json without HTML escaping.
func Encode(e *Event) ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	encode := encodeAny
	if _, ok := e.Data.(*contracts.Observations); ok {
		encode = encodeObservations // they are the bulk of what is published
	}
	out, err := encode(e)
	if err != nil {
		return nil, err
	}
	if len(out) > MaxBytes {
		return nil, fmt.Errorf("event has %d bytes, at most %d", len(out), MaxBytes)
	}
	return out, nil
}

// encodeAny writes a valid event of any kind.
func encodeAny(e *Event) ([]byte, error) {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false) // URLs are full of &
	err := to.Encode(envelope{
		Version: Version, EventID: e.ID, Kind: e.Kind, Producer: e.Producer, ProducedAt: e.ProducedAt.UTC(), Data: e.Data,
	})
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// encodeObservations writes a valid batch of observations as encodeAny does,
// without reflection: in one pass and one allocation.
func encodeObservations(e *Event) ([]byte, error) {
	d := e.Data.(*contracts.Observations)
	b := make([]byte, 0, sizeOf(d)+len(e.Producer)+256)
	b = append(b, `{"version":`...)
	b = strconv.AppendInt(b, Version, 10)
	b = appendText(b, `,"eventId":`, e.ID)
	b = appendText(b, `,"kind":`, string(e.Kind))
	if e.Producer != "" {
		b = appendText(b, `,"producer":`, e.Producer)
	}
	b, err := appendTime(b, `,"producedAt":`, e.ProducedAt.UTC())
	if err != nil {
		return nil, err
	}
	b = appendText(b, `,"data":{"site":`, string(d.Site))
	if d.Run != "" {
		b = appendText(b, `,"run":`, d.Run)
	}
	b = append(b, `,"observations":[`...)
	for i := range d.Observations {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendObservation(b, &d.Observations[i]); err != nil {
			return nil, fmt.Errorf("data: observations[%d]: %w", i, err)
		}
	}
	return append(b, "]}}"...), nil
}

// sizeOf estimates the bytes of the JSON form: exact except for escapes, times
// and the lengths of numbers, for which it assumes typical sizes.
func sizeOf(d *contracts.Observations) int {
	n := len(d.Site) + len(d.Run)
	for i := range d.Observations {
		n += 128
		for j := range d.Observations[i].Offers {
			o := &d.Observations[i].Offers[j]
			n += 192 + len(o.Merchant) + len(o.Rating) + len(o.Manufacturer) + len(o.Title) + len(o.URL) + len(o.DeliveryText)
		}
	}
	return n
}

func appendObservation(b []byte, o *contracts.Observation) ([]byte, error) {
	b = append(b, `{"itemId":"`...)
	b = strconv.AppendUint(b, uint64(o.ItemID), 10)
	b, err := appendTime(b, `","capturedAt":`, o.CapturedAt)
	if err != nil {
		return nil, fmt.Errorf("capturedAt: %w", err)
	}
	b = appendText(b, `,"outcome":`, o.Outcome.String())
	for i := range o.Offers {
		if i == 0 {
			b = append(b, `,"offers":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendOffer(b, &o.Offers[i])
	}
	if len(o.Offers) > 0 {
		b = append(b, ']')
	}
	return append(b, '}'), nil
}

func appendOffer(b []byte, o *contracts.Offer) []byte {
	open := len(b)
	text := func(name, s string) {
		if s != "" {
			b = appendText(b, name, s)
		}
	}
	amount := func(name string, v *int64) {
		if v != nil {
			b = strconv.AppendInt(append(b, name...), *v, 10)
		}
	}
	flag := func(name string, f contracts.Flag) {
		if f != contracts.FlagUnknown {
			b = append(b, name...)
			switch f {
			case contracts.FlagTrue:
				b = append(b, "true"...)
			case contracts.FlagFalse:
				b = append(b, "false"...)
			default:
				b = append(b, "null"...)
			}
		}
	}
	text(`,"merchant":`, o.Merchant)
	amount(`,"price":`, o.Price)
	amount(`,"shipping":`, o.Shipping)
	text(`,"currencyCode":`, string(o.CurrencyCode))
	flag(`,"isPrime":`, o.IsPrime)
	flag(`,"isBuyBox":`, o.IsBuyBox)
	if o.Rating != "" {
		b = appendRating(append(b, `,"rating":`...), string(o.Rating))
	}
	text(`,"manufacturer":`, o.Manufacturer)
	text(`,"title":`, o.Title)
	text(`,"url":`, o.URL)
	text(`,"deliveryText":`, o.DeliveryText)
	if len(b) == open {
		return append(b, "{}"...)
	}
	b[open] = '{' // overwrites the comma of the first field
	return append(b, '}')
}

// appendRating writes the text of a rating. Rating's own MarshalJSON escapes for
// HTML, so any text that is not plain is left to it.
func appendRating(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '.', c == ',', c == '/', c == ' ':
		default:
			text, _ := contracts.Rating(s).MarshalJSON() // a text never fails
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendTime writes an instant in RFC 3339. It returns an error if the zone's
// offset is a day or more.
func appendTime(b []byte, name string, t time.Time) ([]byte, error) {
	b = append(append(b, name...), '"')
	b, err := t.AppendText(b)
	return append(b, '"'), err
}

// appendText writes a text, which must be UTF-8, after its name, which is
// written verbatim.
func appendText(b []byte, name, s string) []byte {
	b = append(append(b, name...), '"')
	from := 0
	for i := special(s, 0); i < len(s); i = special(s, i) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			// The line separators U+2028 and U+2029, E2 80 A8 and E2 80 A9.
			if c == 0xe2 && s[i+1] == 0x80 && s[i+2]&^1 == 0xa8 {
				b = append(b, s[from:i]...)
				b = append(b, `\u202`...)
				b = append(b, hex[s[i+2]&15])
				from = i + 3
				i = from
			} else {
				i++
			}
			continue
		}
		b = append(b, s[from:i]...)
		const names, values = `"\bfnrt`, "\"\\\b\f\n\r\t"
		if n := bytes.IndexByte([]byte(values), c); n >= 0 {
			b = append(b, '\\', names[n])
		} else {
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

const hex = "0123456789abcdef"

// special returns the index of the first byte from i on that may need an
// escape: a control character, a quote, a backslash, or the first byte of
// U+2028. Without one it returns len(s).
func special(s string, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash, line := w^ones*'"', w^ones*'\\', w^ones*0xe2
		// A byte of x is 0 where (x-ones)&^x has its highest bit set. No such
		// byte is missed, and the loop below sorts out false positives.
		if ((w-ones*' ')&^w|(quote-ones)&^quote|(slash-ones)&^slash|(line-ones)&^line)&high != 0 {
			break
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == 0xe2 {
			return i
		}
	}
	return i
}

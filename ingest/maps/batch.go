package maps

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/google/uuid"

	"preismon/contracts"
)

// appendBatch writes the batch in an encoding of its own, so that the id does
// not change with the JSON encoding. Changing this encoding duplicates every
// import that is run again.
func appendBatch(b []byte, source string, data *contracts.Observations) []byte {
	b = appendTexts(b, "preismon import observations 1", source, string(data.Site))
	for i := range data.Observations {
		b = appendObservation(b, &data.Observations[i])
	}
	return b
}

// appendObservation writes the contents of an observation.
func appendObservation(b []byte, o *contracts.Observation) []byte {
	num := func(v *int64) {
		if v == nil {
			b = append(b, 0)
			return
		}
		b = binary.AppendVarint(append(b, 1), *v)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(o.ItemID))
	b = binary.BigEndian.AppendUint64(b, uint64(o.CapturedAt.UnixMilli()))
	b = append(b, byte(o.Outcome))
	b = binary.AppendUvarint(b, uint64(len(o.Offers)))
	for j := range o.Offers {
		f := &o.Offers[j]
		num(f.Price)
		num(f.Shipping)
		b = append(b, byte(f.IsPrime), byte(f.IsBuyBox))
		b = appendTexts(b, string(f.CurrencyCode), f.Merchant, string(f.Rating), f.Manufacturer, f.Title, f.URL, f.DeliveryText)
	}
	return b
}

// appendTexts writes texts, each after its length.
func appendTexts(b []byte, texts ...string) []byte {
	for _, v := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(v))), v...)
	}
	return b
}

// uuidOf returns a UUID of version 8 (RFC 9562, 5.8) made from a hash.
func uuidOf(sum [sha256.Size]byte) string {
	b := uuid.UUID(sum[:16])
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return b.String()
}

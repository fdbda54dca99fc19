package event

import (
	"maps"
	"slices"
)

// FieldNames returns every name that Decode knows.
func FieldNames() []string {
	return slices.Concat(append(slices.Collect(maps.Values(fieldNames)), envelopeFields)...)
}

// EncodeAny is Encode by encoding/json, which the encoder of observations is
// compared with.
var EncodeAny = encodeAny

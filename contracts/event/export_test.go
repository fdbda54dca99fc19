package event

import "slices"

// FieldNames gives every name that Decode knows.
func FieldNames() []string {
	return slices.Concat(envelopeFields, batchFields, observationFields, offerFields, siteFields, itemFields, mandateFields, packageFields,
		accountFields, scopeFields, orderFields, scheduleFields, countersFields, membershipFields, referenceFields, priceFields, customerFields, fileJobFields, archiveFields, fileFields)
}

// EncodeAny is Encode by encoding/json, which the encoder of observations is
// held against.
var EncodeAny = encodeAny

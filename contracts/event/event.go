// Package event is the contract between producers and the read model: the
// envelope of version 1, its kinds, its JSON form, and the subjects and
// streams it travels on. event.schema.json defines the same for other languages.
//
// Producers build an Event with New and publish Encode's bytes under Subject
// with the event's ID as message id. Consumers call Decode, which validates:
// what it returns can be stored without further checks, and what it refuses
// belongs in the dead letters, with the error as the reason. Unknown fields are
// tolerated, unknown versions and kinds are not.
package event

import (
	_ "embed"
	"reflect"
	"time"
	"unicode/utf8"

	"preismon/contracts"
)

// Schema is event.schema.json, for publication: the contract in JSON Schema
// 2020-12. Rules that the schema cannot express are in its descriptions.
//
//go:embed event.schema.json
var Schema []byte

// Version is the envelope version this package writes and reads.
const Version = 1

// MaxBytes bounds an encoded event: the default payload limit of a NATS
// server, less room for headers.
const MaxBytes = 1_000_000

// MaxClockLead is how much later than the production of its batch a capture may
// be; more means a wrong clock.
const MaxClockLead = 24 * time.Hour

// Kind names what an event carries.
type Kind string

const (
	KindObservations    Kind = "observations"
	KindSite            Kind = "site"
	KindItem            Kind = "item"
	KindMandate         Kind = "mandate"
	KindAccount         Kind = "account"
	KindOrder           Kind = "order"
	KindReferencePrices Kind = "referencePrices"
	KindCustomerData    Kind = "customerData"
	KindExport          Kind = "export"
	KindExportArchive   Kind = "exportArchive"
	KindImport          Kind = "import"
	KindImportArchive   Kind = "importArchive"
)

// Payload is what an event carries: one of the contracts' records. Export and
// import records share their types, so the kind is kept separately.
type Payload interface{ Validate() error }

// Event is one message. Data holds a pointer to the type that belongs to
// Kind: *contracts.Observations, *contracts.Site and so on.
type Event struct {
	ID         string // UUID in canonical lower-case form; the message id
	Kind       Kind
	Producer   string // the program that made it, as it names itself
	ProducedAt time.Time
	Data       Payload
}

// Kinds returns every kind: observations first, then the catalogue's.
func Kinds() []Kind {
	return []Kind{
		KindObservations, KindSite, KindItem, KindMandate, KindAccount, KindOrder, KindReferencePrices,
		KindCustomerData, KindExport, KindExportArchive, KindImport, KindImportArchive,
	}
}

// payloads are the types that events of each kind carry.
var payloads = map[Kind]reflect.Type{
	KindObservations:    reflect.TypeFor[contracts.Observations](),
	KindSite:            reflect.TypeFor[contracts.Site](),
	KindItem:            reflect.TypeFor[contracts.Item](),
	KindMandate:         reflect.TypeFor[contracts.Mandate](),
	KindAccount:         reflect.TypeFor[contracts.Account](),
	KindOrder:           reflect.TypeFor[contracts.Order](),
	KindReferencePrices: reflect.TypeFor[contracts.ReferencePrices](),
	KindCustomerData:    reflect.TypeFor[contracts.CustomerData](),
	KindExport:          reflect.TypeFor[contracts.FileJob](),
	KindExportArchive:   reflect.TypeFor[contracts.FileArchive](),
	KindImport:          reflect.TypeFor[contracts.FileJob](),
	KindImportArchive:   reflect.TypeFor[contracts.FileArchive](),
}

func (k Kind) known() bool { return payloads[k] != nil }

// fits reports whether the payload has the type that belongs to the kind.
func (k Kind) fits(d Payload) bool {
	v := reflect.ValueOf(d)
	return v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem() == payloads[k]
}

// isUUID reports whether s is a UUID in canonical lower-case form.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// Validate returns every fault of the event and its payload.
func (e *Event) Validate() error {
	var f contracts.Faults
	f.Check(isUUID(e.ID), "eventId: %q is not a UUID in lower case", clip(e.ID))
	f.Check(len(e.Producer) <= 128, "producer: %d bytes, at most 128", len(e.Producer))
	f.Check(utf8.ValidString(e.Producer), "producer: not UTF-8")
	if y := e.ProducedAt.Year(); e.ProducedAt.IsZero() {
		f.Addf("producedAt: missing")
	} else if y < 2000 || y > 2099 {
		f.Addf("producedAt: the year %d lies outside 2000 to 2099", y)
	}
	switch {
	case !e.Kind.known():
		f.Addf("kind: %q is unknown", clip(string(e.Kind)))
	case e.Data == nil:
		f.Addf("data: missing")
	case !e.Kind.fits(e.Data):
		f.Addf("data: %T does not belong to the kind %s", e.Data, e.Kind)
	default:
		f.Under("data", e.Data.Validate())
	}
	if batch, ok := e.Data.(*contracts.Observations); ok && batch != nil {
		limit := e.ProducedAt.Add(MaxClockLead)
		for i := range batch.Observations {
			if at := batch.Observations[i].CapturedAt; at.After(limit) {
				f.Addf("data: observations[%d]: capturedAt: %s is more than %s after producedAt", i, at.Format(time.RFC3339), MaxClockLead)
			}
		}
	}
	return f.Err()
}

package event

import (
	"fmt"
	"strings"

	"preismon/contracts"
)

// Streams.
const (
	StreamObservations = "OBSERVATIONS" // batches of observations, kept by limits
	StreamCatalog      = "CATALOG"      // master data, the last message of each subject kept for ever
	StreamDeadLetters  = "DEAD_LETTERS" // what could not be read, with its reason
)

// Subject filters of the streams.
const (
	SubjectsObservations = "observations.>"
	SubjectsCatalog      = "catalog.>"
	SubjectsDeadLetters  = "deadletters.>"
)

// Stream returns the stream that holds events of the kind; empty for an unknown kind.
func (k Kind) Stream() string {
	switch {
	case !k.known():
		return ""
	case k == KindObservations:
		return StreamObservations
	}
	return StreamCatalog
}

// Subject returns the subject the event is published under. Observations go by
// site, so that they can be split into partitions that each hold whole pairs; a
// catalogue record has a subject of its own, so that its last state is kept.
func (e *Event) Subject() string {
	switch d := e.Data.(type) {
	case *contracts.Observations:
		return "observations." + SiteToken(d.Site)
	case *contracts.Site:
		return "catalog.site." + SiteToken(d.Site)
	case *contracts.Item:
		return fmt.Sprintf("catalog.item.%d", d.ItemID)
	case *contracts.Mandate:
		return fmt.Sprintf("catalog.mandate.%d", d.MandateID)
	case *contracts.Account:
		return fmt.Sprintf("catalog.account.%d.%d", d.MandateID, d.AccountID)
	case *contracts.Order:
		return fmt.Sprintf("catalog.order.%d.%d", d.MandateID, d.OrderID)
	case *contracts.ReferencePrices:
		return fmt.Sprintf("catalog.referencePrices.%d.%d", d.MandateID, d.ItemID)
	case *contracts.CustomerData:
		return fmt.Sprintf("catalog.customerData.%d.%d", d.MandateID, d.ItemID)
	case *contracts.FileJob:
		return fmt.Sprintf("catalog.%s.%d.%d.%d", e.Kind, d.MandateID, d.OrderID, d.FileJobID)
	case *contracts.FileArchive:
		return fmt.Sprintf("catalog.%s.%d.%d.%d", e.Kind, d.MandateID, d.OrderID, d.ArchiveID)
	}
	panic(fmt.Sprintf("event: no subject for %T", e.Data))
}

// SiteToken returns the site key as one token of a subject: its dots, which
// would split it, become '=', which no key contains.
func SiteToken(k contracts.SiteKey) string { return strings.ReplaceAll(string(k), ".", "=") }

// DeadLetterSubject returns the subject for unreadable messages of the stream.
func DeadLetterSubject(stream string) string { return "deadletters." + stream }

// ReplayedSubject returns the subject of the record that a dead letter was
// replayed, by the letter's own sequence. The letters themselves have another
// subject.
func ReplayedSubject(stream string, letter uint64) string {
	return fmt.Sprintf("%s.replayed.%d", DeadLetterSubject(stream), letter)
}

// HeaderReplayOf names the dead letter that a message was published again from.
// The note about it has this header too, and HeaderStream and HeaderSeq, which
// say where the message is now.
const HeaderReplayOf = "Preismon-Replay-Of"

// Headers of a dead letter; its body is the original message, unless HeaderCut
// says that it was cut to what the server accepts.
const (
	HeaderCut     = "Preismon-Cut" // bytes of the whole message
	HeaderReason  = "Preismon-Reason"
	HeaderStream  = "Preismon-Stream"
	HeaderEpoch   = "Preismon-Epoch"
	HeaderSeq     = "Preismon-Seq"
	HeaderSubject = "Preismon-Subject"
)

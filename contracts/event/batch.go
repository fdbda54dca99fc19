package event

import (
	"errors"
	"fmt"
	"time"
)

// ErrDeposed is what whoever applies batches answers when a newer leader of
// the partition has begun: it must not be asked again.
var ErrDeposed = errors.New("deposed by a newer leader of the partition")

// ErrRefused is what whoever applies batches answers when it may apply none
// where it is, until people change something: asking again does not help.
var ErrRefused = errors.New("refused until somebody mends it")

// ErrForked is what whoever applies batches answers when it began, at places of
// the batch or before, with other messages than the stream has there now: the
// stream lost its tail, and nobody saw it. It must be asked again in a new epoch.
var ErrForked = errors.New("the stream has other messages than those that were begun here")

// ErrGap is what whoever applies batches answers when a batch begins behind the
// end of what is applied: what is in between would be lost. It must be asked
// again where to resume.
var ErrGap = errors.New("the batch does not begin where what is applied ends")

// Batch is a contiguous range of a stream's sequences: First to Last, both
// included. What has no message here was no message for this consumer, or is
// in the dead letters by now.
type Batch struct {
	Stream      string
	Epoch       uint32 // the stream's incarnation: the Unix second of its creation
	First, Last uint64
	Messages    []Message
	Pending     uint64 // messages waiting behind this batch
}

// Message is one decoded, valid event at its place in the stream.
type Message struct {
	Seq    uint64
	Stored time.Time // when the stream took it
	Event  *Event
}

// Rejected is what whoever applies batches answers when one event of the batch
// is more than it may apply. Nothing of the batch is applied by then: its message
// belongs into the dead letters, and the batch is to be given again without it.
type Rejected struct {
	Seq    uint64
	Reason string
}

func (r *Rejected) Error() string { return fmt.Sprintf("sequence %d: %s", r.Seq, r.Reason) }

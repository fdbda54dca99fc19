package event

import (
	"errors"
	"fmt"
	"time"
)

// ErrDeposed is returned by a sink of batches when a newer leader of the
// partition has begun. The sink must not be called again.
var ErrDeposed = errors.New("deposed by a newer leader of the partition")

// ErrRefused is returned by a sink of batches when it cannot apply any batch
// until an operator changes something. Retrying does not help.
var ErrRefused = errors.New("refused until its cause is fixed")

// ErrForked is returned by a sink of batches when it has begun, at positions of
// the batch or before, with other messages than the stream has there now: the
// stream lost its tail unnoticed. The sink must be called again in a new epoch.
var ErrForked = errors.New("the stream has other messages than those that were begun here")

// ErrGap is returned by a sink of batches when a batch begins after the end of
// what is applied, so that the messages in between would be missing: also when
// what was applied is no longer there. A new sink must be asked where to resume.
var ErrGap = errors.New("the batch does not begin where what is applied ends")

// Batch is a contiguous range of a stream's sequences: First to Last, both
// included. A sequence without a message here had no message for this consumer,
// or its message is already in the dead letters.
type Batch struct {
	Stream      string
	Epoch       uint32 // of the stream, as Incarnation.Epoch
	First, Last uint64
	Messages    []Message
	Pending     uint64 // messages waiting behind this batch
}

// Message is one decoded, valid event at its position in the stream.
type Message struct {
	Seq    uint64
	Stored time.Time // when the stream stored it
	Event  *Event
}

// Rejected is returned by a sink of batches when one event of the batch is more
// than it may apply. Nothing of the batch has been applied then: the message
// belongs in the dead letters, and the batch must be passed again without it.
type Rejected struct {
	Seq    uint64
	Reason string
}

func (r *Rejected) Error() string { return fmt.Sprintf("sequence %d: %s", r.Seq, r.Reason) }

package event

import (
	"strconv"
	"time"
)

// StreamState is what a stream holds at a moment.
type StreamState struct {
	Stream string
	Incarnation
	First  uint64        // sequence of the oldest message kept
	Last   uint64        // sequence assigned last
	MaxAge time.Duration // of messages; 0: kept for ever
}

// Incarnation identifies which messages a stream has under its sequences. A
// stream that loses its tail assigns those sequences again.
type Incarnation struct {
	Epoch   uint32 // of what is published now: that of the last fork, or Created
	Created uint32 // when the stream was made, Unix seconds
	Forks   []Fork // where it lost its tail, oldest first
}

// Fork is a point where a stream lost its tail: what follows After has a new epoch.
type Fork struct {
	Epoch uint32 // Unix seconds; always greater than the epoch before
	After uint64
}

// After returns the last sequence that belongs to an epoch before Epoch; 0 if
// none does.
func (i Incarnation) After() uint64 {
	if n := len(i.Forks); n > 0 {
		return i.Forks[n-1].After
	}
	return 0
}

// Same returns the sequence up to which the stream still has the messages that
// were applied up to seq in epoch; 0: none, or none known to be the same.
func (i Incarnation) Same(epoch uint32, seq uint64) uint64 {
	if epoch < i.Created {
		return 0
	}
	for _, f := range i.Forks {
		if f.Epoch > epoch {
			seq = min(seq, f.After)
		}
	}
	return seq
}

// Stored is a message as a stream holds it, whether or not it is a valid event.
type Stored struct {
	Stream  string
	Subject string
	Seq     uint64
	At      time.Time // when the stream stored it
	ID      string    // its message id: the event's, unless another program published it
	Size    int       // bytes of the body
	Header  map[string][]string
	Data    []byte // nil if bodies were not requested
}

// ReadRequest says which messages of a stream to read.
type ReadRequest struct {
	Stream      string
	First, Last uint64    // sequences, both included; Last 0: up to the end at this moment
	Since       time.Time // or messages stored since then, if First is 0
	Subject     string    // filter; empty: all
	Bodies      bool      // false: only headers are fetched
}

// Origin returns where the message of a dead letter was; not ok: the message is
// not a dead letter.
func (m *Stored) Origin() (stream string, epoch uint32, seq uint64, ok bool) {
	get := func(name string) string {
		if v := m.Header[name]; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	e, err1 := strconv.ParseUint(get(HeaderEpoch), 10, 32)
	seq, err2 := strconv.ParseUint(get(HeaderSeq), 10, 64)
	stream = get(HeaderStream)
	return stream, uint32(e), seq, stream != "" && err1 == nil && err2 == nil
}

package event

import (
	"strconv"
	"time"
)

// StreamState is what a stream holds at a moment.
type StreamState struct {
	Stream string
	Incarnation
	First  uint64        // sequence of the oldest message that is kept
	Last   uint64        // sequence given last
	MaxAge time.Duration // of messages; 0: kept for ever
}

// Incarnation is which of all the messages that ever had a sequence in a
// stream has it now. A stream that loses its tail gives sequences again.
type Incarnation struct {
	Epoch   uint32 // of what is published now: that of the last fork, or Created
	Created uint32 // when the stream was made, Unix seconds
	Forks   []Fork // where it lost its tail, in the order of time
}

// Fork is where a stream lost its tail: what follows After is of a new epoch.
type Fork struct {
	Epoch uint32 // Unix seconds
	After uint64
}

// After is the last sequence that belongs to an epoch before Epoch; 0 where
// none does.
func (i Incarnation) After() uint64 {
	if n := len(i.Forks); n > 0 {
		return i.Forks[n-1].After
	}
	return 0
}

// Same tells up to which sequence the stream still has what it had when it
// was applied up to seq, in epoch; 0: nothing, or nothing that is known.
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

// Stored is a message as a stream holds it, read or not.
type Stored struct {
	Stream  string
	Subject string
	Seq     uint64
	At      time.Time // when the stream took it
	ID      string    // its message id: the event's, unless somebody else published it
	Size    int       // bytes of the body
	Header  map[string][]string
	Data    []byte // nil when bodies were not asked for
}

// ReadRequest says which messages of a stream to read.
type ReadRequest struct {
	Stream      string
	First, Last uint64    // sequences, both included; Last 0: to the end of this moment
	Since       time.Time // or those that were stored since, when First is 0
	Subject     string    // filter; empty: all
	Bodies      bool      // else headers alone are fetched
}

// Origin tells of a dead letter where its message stood; not ok: the message
// is no dead letter.
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

package seqlock_test

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
	"preismon/ingest/seqlock"
)

// hole is a connection that drops what is written while open is set.
type hole struct {
	open atomic.Bool
	lost atomic.Int64 // writes
}

func (h *hole) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return holed{c, h}, err
}

type holed struct {
	net.Conn
	hole *hole
}

func (c holed) Write(b []byte) (int, error) {
	if c.hole.open.Load() {
		c.hole.lost.Add(1)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// A lost End is sent again: an idle projector writes no later checkpoint that
// would inform readers instead.
func TestLostEndIsResent(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := w.reader(t)
	write(t, w.writer(t, 1), 1)
	h := &hole{}
	writer := w.writer(t, 0, nats.SetCustomDialer(h))
	must.Do(t, writer.Begin(t.Context()))
	h.open.Store(true)
	writer.End(event.Marks{"OBSERVATIONS": {Epoch: 1, Seq: 5}}, nil)
	for h.lost.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if got := r.Written(t.Context()); got != nil {
		t.Fatalf("nothing was lost: %+v", got.Partitions)
	}
	h.open.Store(false)
	if got := eventually(t, r); got.Partitions[0]["OBSERVATIONS"].Seq != 5 {
		t.Errorf("written: %+v", got.Partitions)
	}
}

// A Begin that was given up and arrives late, after the one that replaced it,
// must not make the stream refuse the End.
func TestLateBegin(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := w.reader(t)
	write(t, w.writer(t, 1), 1)
	writer := w.writer(t, 0)
	must.Do(t, writer.Begin(t.Context()))
	begin := w.last(t, "checkpoints.written.2.0")
	must.Get(w.js.PublishMsg(t.Context(), &nats.Msg{Subject: begin.Subject, Header: begin.Header, Data: begin.Data}))(t)
	writer.End(event.Marks{"OBSERVATIONS": {Epoch: 1, Seq: 6}}, nil)
	if got := eventually(t, r); got.Partitions[0]["OBSERVATIONS"].Seq != 6 {
		t.Errorf("written: %+v", got.Partitions)
	}
}

// Sequences start again in a stream that was lost and recreated: a repeated End
// of the previous leader may find the sequence of its Begin taken by another
// leader's Begin.
func TestEndOfALostStream(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := w.reader(t)
	write(t, w.writer(t, 1), 1)
	write(t, w.writer(t, 0), 1)
	eventually(t, r)
	const subject = "checkpoints.written.2.0"
	end := w.last(t, subject)
	must.Do(t, w.js.DeleteStream(t.Context(), seqlock.Stream))
	next := w.writer(t, 0)
	must.Do(t, next.Begin(t.Context()))
	write(t, w.writer(t, 1), 2)
	begin := w.last(t, subject)
	must.Get(w.js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Data: end.Data}, jetstream.WithExpectLastSequencePerSubject(begin.Sequence)))(t)
	late := w.reader(t)
	for began := time.Now(); r.Stats().Writing+late.Stats().Writing < 100; {
		for _, r := range []*seqlock.Reader{r, late} {
			if got := r.Written(t.Context()); got != nil {
				t.Fatalf("the next leader writes, and the answer is %+v", got.Partitions)
			}
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("asked for 10 s: %+v, %+v", r.Stats(), late.Stats())
		}
	}
}

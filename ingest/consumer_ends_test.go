package ingest_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

func TestConsumerEndsInOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		cause   error
		grace   time.Duration // 0: the default
		applied bool
	}{
		{"asked to end: the batch in the sink is finished", nil, 0, true},
		{"unless it takes longer than the grace", nil, 50 * time.Millisecond, false},
		{"lease lost: it is not", ingest.ErrLeaseLost, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			nc, js := connect(t)
			publish(t, nc, observations(1, 1))
			sink := newRecorder()
			entered, release := make(chan struct{}, 1), make(chan struct{})
			sink.before = func(ctx context.Context, _ *event.Batch) error {
				entered <- struct{}{}
				select {
				case <-release:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			c := run(t, js, ingest.ConsumerConfig{Grace: test.grace}, sink)
			<-entered
			c.cancel(test.cause)
			if test.applied {
				select {
				case <-c.over:
					t.Fatal("ended with a batch in the sink")
				case <-time.After(50 * time.Millisecond):
				}
				close(release)
			}
			select {
			case <-c.over:
			case <-time.After(5 * time.Second):
				t.Fatal("does not end")
			}
			equals.Is(t, test.applied, len(sink.ids(event.StreamObservations)) == 1, "applied")
			floor := uint64(0)
			if test.applied {
				floor = 1
			}
			info, err := js.Consumer(t.Context(), event.StreamObservations, "projector-0")
			if err != nil || info.CachedInfo().AckFloor.Stream != floor {
				t.Errorf("acknowledged up to %d, %v", info.CachedInfo().AckFloor.Stream, err)
			}
		})
	}
}

// Messages as large as the server accepts must not block the consumer forever.
func TestConsumerReadsTheLargest(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	s := must.Get(js.Stream(t.Context(), event.StreamObservations))(t)
	config := s.CachedInfo().Config
	config.MaxMsgSize = -1 // as an operator may set it
	must.Get(js.UpdateStream(t.Context(), config))(t)
	huge := strings.Repeat("x", int(nc.MaxPayload())-50)
	const n = 10 // more than the server keeps for a client that does not read
	for range n {
		must.Get(js.PublishMsg(t.Context(), &nats.Msg{Subject: "observations.x", Data: []byte(huge)}))(t)
	}
	publish(t, nc, observations(1, 1))
	sink := newRecorder()
	c := run(t, js, ingest.ConsumerConfig{MaxBytes: 1 << 20}, sink)
	c.reach(t, js)
	if p := c.Progress(); p.Poison != n || p.Events != 1 {
		t.Errorf("%+v", p)
	}
	dead := must.Get(js.Stream(t.Context(), event.StreamDeadLetters))(t)
	m, err := dead.GetMsg(t.Context(), 1)
	if err != nil || m.Header.Get(event.HeaderCut) != strconv.Itoa(len(huge)) {
		t.Errorf("%v, %v", m.Header, err)
	}
}

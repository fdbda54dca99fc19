package ingest

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
)

// A cluster refuses an id that it has proposed but not decided, and an account
// that is full may have room later: the message is
// published again. Any other error of a message is final.
func TestPublisherRetriesWhileTheIDIsInProcess(t *testing.T) {
	for code, want := range map[jetstream.ErrorCode]verdict{codeIDInProcess: retry, codeAccountFull: retry, 10054: never} {
		err := &jetstream.APIError{Code: 409, ErrorCode: code}
		if got, _ := new(Publisher).judge(&publication{}, err); got != want {
			t.Errorf("code %d: %d, want %d", code, got, want)
		}
	}
}

// A stream that is missing again after the connection was lost has not been
// missing all the time: the publisher waits for it as long as the first time.
func TestPublisherWaitsEachTimeAStreamIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Publisher{c: PublisherConfig{NoStreamWait: 10 * time.Second}, noStream: map[string]time.Time{}}
		f := &publication{stream: event.StreamObservations, msg: nats.NewMsg("observations.shop")}
		for _, c := range []struct {
			after time.Duration
			err   error
			want  verdict
		}{
			{0, jetstream.ErrNoStreamResponse, retry},
			{time.Second, nats.ErrDisconnected, retry},
			{30 * time.Second, jetstream.ErrNoStreamResponse, retry},
			{9 * time.Second, jetstream.ErrNoStreamResponse, retry},
			{time.Second, jetstream.ErrNoStreamResponse, stop},
		} {
			time.Sleep(c.after)
			if got, err := p.judge(f, c.err); got != c.want {
				t.Errorf("%v: %d, want %d: %v", c.err, got, c.want, err)
			}
		}
	})
}

// A record that another state was published of at the same moment is not
// published, and the reason is ErrOvertaken.
func TestPublisherIsOvertaken(t *testing.T) {
	for _, code := range []jetstream.ErrorCode{jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant} {
		got, reason := new(Publisher).judge(&publication{}, &jetstream.APIError{Code: 400, ErrorCode: code})
		if got != never || !errors.Is(reason, ErrOvertaken) {
			t.Errorf("code %d: %d %v", code, got, reason)
		}
	}
}

package ingest

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A cluster refuses an id that it has proposed but not decided, and an account
// that is full may have room later: the message is
// published again. Any other error of a message is final.
func TestPublisherTriesAgainWhileTheIDIsInProcess(t *testing.T) {
	for code, want := range map[jetstream.ErrorCode]verdict{codeIDInProcess: again, codeAccountFull: again, 10054: never} {
		err := &jetstream.APIError{Code: 409, ErrorCode: code}
		if got, _ := new(Publisher).judge(&flight{}, err); got != want {
			t.Errorf("code %d: %d, want %d", code, got, want)
		}
	}
}

// A record that another state was published of at the same moment is not
// published, and the reason is ErrOvertaken.
func TestPublisherIsOvertaken(t *testing.T) {
	for _, code := range []jetstream.ErrorCode{jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant} {
		got, reason := new(Publisher).judge(&flight{}, &jetstream.APIError{Code: 400, ErrorCode: code})
		if got != never || !errors.Is(reason, ErrOvertaken) {
			t.Errorf("code %d: %d %v", code, got, reason)
		}
	}
}

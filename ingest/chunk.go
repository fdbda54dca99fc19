package ingest

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"preismon/contracts"
	"preismon/contracts/event"
)

// arrival is one message with the result of decoding it.
type arrival struct {
	msg     jetstream.Msg
	seq     uint64
	stored  time.Time
	pending uint64
	passed  bool // belongs to another partition: it is not decoded
	rows    int
	event   *event.Event
	err     error

	publisher trace.SpanContext
}

// chunk is a group of a few messages that one worker decodes.
type chunk struct {
	list  []arrival
	gaps  []gap // before and between them
	bytes int
	ahead int64 // how many of them are counted as decoded ahead
	err   error // why the gaps could not be explained
	ready chan struct{}
}

// Sizes of a chunk: small enough to spread a backlog over the workers.
const (
	chunkMessages = 64
	chunkBytes    = 128 << 10
)

// aheadBytes is how much is decoded ahead of the batch that is being filled:
// two events of the greatest size, each of which may take fifty times as much
// memory decoded, or all the chunks that the workers can have under way.
const aheadBytes = 2 << 20

// decode decodes the chunk's messages.
func (c *chunk) decode(stream string) {
	for i := range c.list {
		a := &c.list[i]
		if a.passed {
			continue
		}
		a.event, a.err = decode(stream, a.msg.Subject(), a.msg.Data())
		if a.err != nil {
			continue
		}
		a.rows = 1
		if batch, ok := a.event.Data.(*contracts.Observations); ok {
			a.rows = 0
			for j := range batch.Observations {
				a.rows += batch.Observations[j].Rows()
			}
		}
	}
}

// findPublishers reads the trace contexts of the chunk's messages.
func (c *chunk) findPublishers() {
	for i := range c.list {
		if a := &c.list[i]; !a.passed {
			a.publisher = publisherOf(a.msg.Headers())
		}
	}
}

// decode decodes an event and checks that it belongs where it was found.
func decode(stream, subject string, data []byte) (*event.Event, error) {
	e, err := event.Decode(data)
	switch {
	case err != nil:
		return nil, err
	case e.Kind.Stream() != stream:
		return nil, fmt.Errorf("kind: %s does not belong into %s", e.Kind, stream)
	case e.Subject() != subject:
		return nil, fmt.Errorf("subject: %s, but the event belongs to %s", subject, e.Subject())
	}
	return e, nil
}

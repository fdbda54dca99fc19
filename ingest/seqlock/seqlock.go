// Package seqlock lets readers of the tables find out whether the checkpoints
// may have changed, so that they need not query ClickHouse when nothing has.
//
// It is a sequence lock over a JetStream stream. A projector announces there
// that it is about to write a checkpoint, waits until the server has stored
// that, writes, and announces what it wrote. A reader with a question publishes
// a message of its own to the same stream and waits until its consumer receives
// it: whatever was acknowledged earlier precedes it, so by then the reader has
// seen every write that had begun when it sent the question. The order of the
// stream is the proof; clocks and the freshness of replicas do not matter.
//
// The stream is kept in memory. When it is lost, readers know nothing, and
// query ClickHouse until each projector has written again.
package seqlock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/ingest"
)

// Stream is the name of the stream. It holds the last messages of each
// partition and of each slot of readers.
const Stream = "CHECKPOINTS"

// slots is the number of subjects that readers share for their questions, so
// that questions of processes that are gone do not accumulate.
const slots = 64

// kept is how many messages of a subject the stream keeps. A reader's own
// question comes back within Config.Wait or is given up; what the projector
// published in that time must not be dropped before the reader's consumer has
// it. One checkpoint takes milliseconds, and two messages.
const kept = 64

func writtenSubject(partition, partitions int) string {
	return fmt.Sprintf("checkpoints.written.%d.%d", partitions, partition)
}

func answerSubject(slot uint64) string { return fmt.Sprintf("checkpoints.asked.%d", slot%slots) }

// maxWait is a time in which no projector writes kept/2 checkpoints.
const maxWait = 100 * time.Millisecond

// Config describes which partitions are written or read.
type Config struct {
	Partitions int
	Replicas   int           // of the stream; 0: one
	Wait       time.Duration // a reader gives up after this time, and sends no question for ten times as long; 0: 50 ms
}

func (c Config) withDefaults() Config {
	c.Replicas = max(c.Replicas, 1)
	c.Wait = cmp.Or(c.Wait, 50*time.Millisecond)
	return c
}

// Validate returns every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	f.Check(c.Partitions >= 1, "partitions: not positive")
	f.Check(c.Replicas >= 0 && c.Replicas <= 5, "replicas: %d, from 1 to 5", c.Replicas)
	f.Check(c.Wait >= 0 && c.Wait <= maxWait, "wait: %s, from 0 to %s", c.Wait, maxWait)
	return f.Err()
}

// room is how much of NATS's memory the stream takes, reserved when it is
// created: it must not run out later, when a projector's message would be
// refused and a reader's accepted.
const room = 4 << 20

// open returns the stream; it creates a missing one and raises its replicas.
func (c Config) open(ctx context.Context, js jetstream.JetStream) (jetstream.Stream, error) {
	return ingest.EnsureStream(ctx, js, jetstream.StreamConfig{
		Name: Stream, Subjects: []string{"checkpoints.>"}, Description: "whether a projector writes a checkpoint, and what readers ask",
		Storage: jetstream.MemoryStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		MaxMsgsPerSubject: kept, MaxBytes: room, Replicas: c.Replicas,
	})
}

// noRoom reports whether a server refused to create the stream for lack of
// memory.
func noRoom(err error) bool {
	e, ok := errors.AsType[*jetstream.APIError](err)
	return ok && slices.Contains([]jetstream.ErrorCode{
		10002, // JSAccountResourcesExceededErr
		10005, // JSClusterNoPeersErr
		10023, // JSInsufficientResourcesErr
		10028, // JSMemoryResourcesExceededErr
	}, e.ErrorCode)
}

// notice is the message of a partition. Written is null: the projector is
// writing.
type notice struct {
	Written event.Marks `json:"written"`
	Begin   string      `json:"begin"` // of an End: the id of its Begin. Sequences start again after the stream was lost.
	// Arrived is what the checkpoint of the observations made visible since the
	// last End; null: nothing, or it is not known.
	Arrived *event.Arrivals `json:"arrived,omitempty"`
}

// maxEnd is the size of an End that names what arrived: those of all partitions
// take half of the stream's room at most.
func maxEnd(partitions int) int { return room / 2 / kept / partitions }

func (n notice) message(subject string) *nats.Msg {
	body, err := json.Marshal(n)
	if err != nil { // numbers by name: cannot fail
		panic(err)
	}
	return &nats.Msg{Subject: subject, Data: body}
}

package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/ingest"
)

// retention checks what the stream of observations is about to drop or to
// refuse. The tables keep what it drops, except what is not applied yet.
func (s *Site) retention(ctx context.Context) []Finding {
	const check = "retention"
	stream, err := s.JS.Stream(ctx, event.StreamObservations)
	if err != nil {
		return nil // reported already
	}
	info := stream.CachedInfo()
	var found []Finding
	if most := info.Config.MaxBytes; most > 0 {
		found = one(check, beyond(float64(info.State.Bytes)/float64(most), 0.8, 0.95), "nats stream edit "+event.StreamObservations+" --max-bytes N # more: full, it refuses what is published", "%s of at most %s in the stream %s",
			humanize.IBytes(info.State.Bytes), humanize.IBytes(uint64(most)), event.StreamObservations)
	}
	age := info.Config.MaxAge
	if age == 0 {
		return append(found, one(check, OK, "", "stream %s drops nothing: everything can be rebuilt from it", event.StreamObservations)...)
	}
	waits, err := s.oldestUnapplied(ctx, stream)
	if err != nil {
		return append(found, one(check, Unknown, s.command("audit"), "%v", err)...)
	}
	if waits == 0 {
		return append(found, one(check, OK, "", "stream %s drops what is %s old, and all of it is in the tables; they can be rebuilt as far back as that only", event.StreamObservations, age)...)
	}
	return append(found, one(check, beyond(float64(waits)/float64(age), 0.5, 0.8), "preismon projector --keep-observations AGE ... # more, until what holds it up is mended", "stream %s drops what is %s old; the oldest that is in no table is %s old",
		event.StreamObservations, age, waits.Round(time.Second))...)
}

// oldestUnapplied returns the age of the oldest message that the projector has
// not acknowledged; 0: there is none.
func (s *Site) oldestUnapplied(ctx context.Context, stream jetstream.Stream) (time.Duration, error) {
	next := uint64(1) // no projector has read it
	c, err := stream.Consumer(ctx, ingest.ProjectorConsumer(s.Partition, s.Partitions))
	switch {
	case err == nil:
		info := c.CachedInfo()
		if info.NumPending+uint64(info.NumAckPending) == 0 {
			return 0, nil
		}
		next = info.AckFloor.Stream + 1
	case !errors.Is(err, jetstream.ErrConsumerNotFound):
		return 0, err
	}
	m, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(">"))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return max(s.Now().Sub(m.Time), time.Nanosecond), nil
}

package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"preismon/contracts/event"

	"github.com/nats-io/nats.go/jetstream"
)

const appliedPoll = 100 * time.Millisecond

// WaitApplied waits until the projectors of all partitions have acknowledged
// everything that the streams hold at the time of the call. partitions is how
// many partitions there are; 0: the only number for which there are projectors,
// and an error if there are several such numbers. It observes their consumers
// from outside, so it works from any process; if one of them has never run,
// that is an error.
func WaitApplied(ctx context.Context, js jetstream.JetStream, partitions int) error {
	if partitions == 0 {
		var err error
		if partitions, err = onlyNumber(ctx, js); err != nil {
			return err
		}
	}
	for _, stream := range projected {
		s, err := js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		end, err := End(ctx, js, stream)
		if err != nil {
			return err
		}
		for partition := range partitions {
			consumer, err := consumerOf(ctx, js, stream, ProjectorConsumer(partition, partitions))
			if errors.Is(err, jetstream.ErrConsumerNotFound) {
				return fmt.Errorf("no projector of partition %d of %d has read the stream %s yet", partition, partitions, stream)
			}
			if err != nil {
				return err
			}
			if err := waitAcknowledged(ctx, s, consumer, end); err != nil {
				return err
			}
		}
	}
	return nil
}

// startsWithin is how long a projector that reads one stream takes at most until
// it reads the other, too.
const startsWithin = 10 * time.Second

// consumerOf returns the consumer of a projector. It waits for that of a projector
// which has just begun, and so far has only that of the other stream.
func consumerOf(ctx context.Context, js jetstream.JetStream, stream, name string) (jetstream.Consumer, error) {
	for began := time.Now(); ; {
		consumer, err := js.Consumer(ctx, stream, name)
		begins := errors.Is(err, jetstream.ErrConsumerNotFound) && slices.ContainsFunc(projected, func(other string) bool {
			_, err := js.Consumer(ctx, other, name)
			return err == nil
		})
		if !begins || time.Since(began) > startsWithin || !sleep(ctx, appliedPoll) {
			return consumer, err
		}
	}
}

// projected are the streams that projectors read.
var projected = []string{event.StreamCatalog, event.StreamObservations}

// onlyNumber returns the number of partitions whose projectors have read a
// stream.
func onlyNumber(ctx context.Context, js jetstream.JetStream) (int, error) {
	found := map[int]bool{}
	for _, stream := range projected {
		s, err := js.Stream(ctx, stream)
		if err != nil {
			return 0, err
		}
		list := s.ListConsumers(ctx)
		for info := range list.Info() {
			if n := partitionsOf(info); n > 0 {
				found[n] = true
			}
		}
		if err := list.Err(); err != nil {
			return 0, err
		}
	}
	numbers := slices.Sorted(maps.Keys(found))
	switch len(numbers) {
	case 0:
		return 0, errors.New("no projector has read the streams yet")
	case 1:
		return numbers[0], nil
	}
	var texts []string
	for _, n := range numbers {
		texts = append(texts, "of "+strconv.Itoa(n))
	}
	return 0, fmt.Errorf("there are projectors %s partitions: say by --partitions which to wait for, or remove the durable consumers of those that are no more (%s, ...)",
		strings.Join(texts, " and "), ProjectorConsumer(0, numbers[0]))
}

// partitionsOf returns the number of partitions of the projector that owns this
// durable consumer; 0: it is not a projector's.
func partitionsOf(info *jetstream.ConsumerInfo) int {
	n := 1 // a projector that knew of no others
	if text, ok := info.Config.Metadata[metaPartitions]; ok {
		n, _ = strconv.Atoi(text)
	}
	for partition := range n {
		if info.Name == ProjectorConsumer(partition, n) {
			return n
		}
	}
	return 0
}

func waitAcknowledged(ctx context.Context, s jetstream.Stream, consumer jetstream.Consumer, end uint64) error {
	for {
		info, err := consumer.Info(ctx)
		if err != nil {
			return err
		}
		floor := info.AckFloor.Stream
		if floor < end && info.NumPending == 0 && info.NumAckPending == 0 { // otherwise it is late, and knows of none
			if floor, _, err = absent(ctx, s, info.Config.FilterSubject, floor+1, end); err != nil {
				return err
			}
		}
		if floor >= end {
			return nil
		}
		if !sleep(ctx, appliedPoll) {
			return context.Cause(ctx)
		}
	}
}

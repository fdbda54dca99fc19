package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
)

// StreamConfig configures how the streams keep what they hold. EnsureStreams
// raises limits and never lowers them, and ages apply only to new streams:
// Retention changes those of existing ones. 0 selects the default, if there is
// one.
type StreamConfig struct {
	Replicas        int           // 1; 3 in production
	MaxBytes        int64         // of OBSERVATIONS; 0: no limit but the server's
	MaxAge          time.Duration // of OBSERVATIONS; 0: kept for ever, so that everything can be rebuilt from it
	DuplicateWindow time.Duration // how long a message id is remembered; 10 minutes
}

func (c StreamConfig) withDefaults() StreamConfig {
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.MaxBytes = cmp.Or(c.MaxBytes, -1)
	c.DuplicateWindow = cmp.Or(c.DuplicateWindow, 10*time.Minute)
	return c
}

// Validate returns every fault of the configuration.
func (c StreamConfig) Validate() error {
	var f contracts.Faults
	c = c.withDefaults()
	f.Check(c.Replicas >= 1 && c.Replicas <= 5, "stream replicas: %d, from 1 to 5", c.Replicas)
	f.Check(c.MaxBytes >= -1, "stream max bytes: negative")
	f.Check(c.DuplicateWindow >= time.Second, "stream duplicate window: %s is shorter than a second", c.DuplicateWindow)
	f.Check(c.MaxAge == 0 || c.MaxAge >= c.DuplicateWindow, "stream max age: %s is shorter than the duplicate window of %s", c.MaxAge, c.DuplicateWindow)
	return f.Err()
}

// headerRoom is how many bytes the headers of a message may need in addition to
// an event.
const headerRoom = 16 << 10

// streams returns the definition of each stream. All of them refuse what they
// have no room for (discard new) rather than drop what they promised to keep;
// with one message per subject, CATALOG nevertheless replaces a record's last
// state, because only DiscardNewPerSubject would refuse that.
func (c StreamConfig) streams() []jetstream.StreamConfig {
	base := jetstream.StreamConfig{
		Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew,
		Replicas: c.Replicas, Duplicates: c.DuplicateWindow,
		MaxMsgs: -1, MaxBytes: -1, MaxMsgsPerSubject: -1, MaxConsumers: -1, MaxMsgSize: -1,
		DenyDelete: true, DenyPurge: true,
	}
	observations := base
	observations.Name = event.StreamObservations
	observations.Subjects = []string{event.SubjectsObservations}
	observations.Description = "batches of price observations"
	observations.MaxBytes, observations.MaxAge = c.MaxBytes, c.MaxAge
	observations.MaxMsgSize = event.MaxBytes + headerRoom

	catalog := base
	catalog.Name = event.StreamCatalog
	catalog.Subjects = []string{event.SubjectsCatalog}
	catalog.Description = "master data, the last state of each record"
	catalog.MaxMsgsPerSubject = 1
	catalog.MaxMsgSize = event.MaxBytes + headerRoom

	dead := base
	dead.Name = event.StreamDeadLetters
	dead.Subjects = []string{event.SubjectsDeadLetters}
	dead.Description = "messages that could not be read, with the reason"
	dead.MaxAge = 90 * 24 * time.Hour
	dead.DenyDelete, dead.DenyPurge = false, false // read and repaired by people
	return []jetstream.StreamConfig{observations, catalog, dead}
}

// EnsureStreams creates missing streams and raises the limits of existing ones.
// It deletes nothing, lowers no limit, and leaves every other setting of an
// operator unchanged. It waits up to ten seconds for each stream while a
// cluster is starting.
func EnsureStreams(ctx context.Context, js jetstream.JetStream, c StreamConfig) error {
	if err := c.Validate(); err != nil {
		return err
	}
	for _, want := range c.withDefaults().streams() {
		if err := ensureSoon(ctx, js, want); err != nil {
			return fmt.Errorf("stream %s: %w", want.Name, err)
		}
	}
	return nil
}

const (
	noPeers       = 10005            // JSClusterNoPeersErr
	clusterBegins = 10 * time.Second // the longest wait for a cluster that is starting
)

// ensureSoon waits for a cluster that is just starting: until its leader has
// heard from every server, it finds no peers for a stream with several
// replicas.
func ensureSoon(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) error {
	for began := time.Now(); ; {
		_, err := EnsureStream(ctx, js, want)
		refused, ok := errors.AsType[*jetstream.APIError](err)
		if !ok || refused.ErrorCode != noPeers || time.Since(began) > clusterBegins || !sleep(ctx, 250*time.Millisecond) {
			return err
		}
	}
}

// EnsureStream creates a stream that is missing, and raises the limits of one
// that exists.
func EnsureStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = js.CreateStream(ctx, want)
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return s, err
		}
		s, err = js.Stream(ctx, want.Name) // another program has created it meanwhile
	}
	if err != nil {
		return nil, err
	}
	have := s.CachedInfo().Config
	next := raised(have, want)
	if reflect.DeepEqual(next, have) {
		return s, nil
	}
	return js.UpdateStream(ctx, next)
}

// raised returns have with the limits of want where those are higher.
func raised(have, want jetstream.StreamConfig) jetstream.StreamConfig {
	next := have
	for _, s := range want.Subjects {
		if !slices.Contains(next.Subjects, s) {
			next.Subjects = append(slices.Clone(next.Subjects), s)
		}
	}
	next.Replicas = max(have.Replicas, want.Replicas)
	next.Duplicates = max(have.Duplicates, want.Duplicates)
	next.MaxBytes = higher(have.MaxBytes, want.MaxBytes)
	next.MaxMsgs = higher(have.MaxMsgs, want.MaxMsgs)
	next.MaxMsgSize = higher(have.MaxMsgSize, want.MaxMsgSize)
	next.MaxMsgsPerSubject = 1
	if want.MaxMsgsPerSubject != 1 { // otherwise it is a rule, not a limit
		next.MaxMsgsPerSubject = higher(have.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	}
	next.Discard = want.Discard
	next.DenyDelete = have.DenyDelete || want.DenyDelete
	next.DenyPurge = have.DenyPurge || want.DenyPurge
	return next
}

// higher returns the higher of two limits, where 0 and -1 mean no limit.
func higher[T ~int32 | ~int64](a, b T) T {
	if a <= 0 {
		return a
	}
	if b <= 0 {
		return b
	}
	return max(a, b)
}

// End returns the last sequence of a stream, 0 if it is empty and new: what
// Consumer.CaughtUp waits for.
func End(ctx context.Context, js jetstream.JetStream, stream string) (uint64, error) {
	s, err := NewHistory(js).State(ctx, stream)
	return s.Last, err
}

// metaEpoch is the metadata key under which a stream records where it lost its
// tail: "epoch:after" of every fork, the oldest first, separated by commas.
const metaEpoch = "preismon-epoch"

// incarnation determines which messages the sequences of a stream belong to.
func incarnation(info *jetstream.StreamInfo) event.Incarnation {
	created := uint32(info.Created.Unix())
	in := event.Incarnation{Epoch: created, Created: created}
	for text := range strings.SplitSeq(info.Config.Metadata[metaEpoch], ",") {
		e, a, _ := strings.Cut(text, ":")
		epoch, err1 := strconv.ParseUint(e, 10, 32)
		after, err2 := strconv.ParseUint(a, 10, 64)
		// A stream recreated from a saved configuration is younger than its marks.
		if err1 == nil && err2 == nil && uint32(epoch) > in.Epoch {
			in.Epoch = uint32(epoch)
			in.Forks = append(in.Forks, event.Fork{Epoch: in.Epoch, After: after})
		}
	}
	return in
}

// beginEpoch records that the stream's sequences after last belong to a new
// epoch. Earlier records stay: readers that have not read since then need them.
func beginEpoch(ctx context.Context, js jetstream.JetStream, info *jetstream.StreamInfo, last uint64, now time.Time) error {
	in := incarnation(info)
	in.Forks = append(in.Forks, event.Fork{Epoch: max(uint32(now.Unix()), in.Epoch+1), After: last})
	c := info.Config
	meta := make(map[string]string, len(c.Metadata)+1)
	for k, v := range c.Metadata {
		if !strings.HasPrefix(k, "_nats.") { // the server's own
			meta[k] = v
		}
	}
	marks := make([]string, len(in.Forks))
	for i, f := range in.Forks {
		marks[i] = fmt.Sprintf("%d:%d", f.Epoch, f.After)
	}
	meta[metaEpoch] = strings.Join(marks, ",")
	c.Metadata = meta
	_, err := js.UpdateStream(ctx, c)
	return err
}

// WrongLastSequence reports whether a message was refused because its sender
// did not expect another one that came before it.
func WrongLastSequence(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

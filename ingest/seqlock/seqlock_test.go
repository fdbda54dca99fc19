package seqlock_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/cluster"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
	"preismon/ingest/seqlock"
)

func TestMain(m *testing.M) {
	testserver.AtOnce(4) // they mostly wait
	cluster.Quick()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))
}

// world is a NATS server, or a cluster, with readers and writers of some partitions.
type world struct {
	url string
	cfg seqlock.Config
	js  jetstream.JetStream
}

func start(t *testing.T) *world {
	t.Helper()
	return at(t, testserver.NATS(t), seqlock.Config{Partitions: 2})
}

// at returns the world at an address.
func at(t *testing.T, url string, cfg seqlock.Config) *world {
	t.Helper()
	cfg.Wait = 100 * time.Millisecond
	w := &world{url: url, cfg: cfg}
	_, w.js = connect(t, url)
	return w
}

func connect(t *testing.T, url string, more ...nats.Option) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	nc := must.Get(ingest.Connect(ingest.Config{URL: url, Name: t.Name(), Logger: slog.New(slog.DiscardHandler)}, more...))(t)
	t.Cleanup(nc.Close)
	js := must.Get(jetstream.New(nc))(t)
	return nc, js
}

// writer returns a writer with its own connection.
func (w *world) writer(t *testing.T, partition int, more ...nats.Option) *seqlock.Writer {
	t.Helper()
	_, js := connect(t, w.url, more...)
	writer := must.Get(seqlock.NewWriter(w.cfg, js, partition, slog.New(slog.DiscardHandler)))(t)
	return writer
}

func (w *world) reader(t *testing.T) *seqlock.Reader {
	t.Helper()
	nc, js := connect(t, w.url)
	r := must.Get(seqlock.NewReader(w.cfg, nc, js, slog.New(slog.DiscardHandler)))(t)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = r.Run(ctx) // returns nil when ctx ends
	}()
	t.Cleanup(func() { cancel(); <-over })
	return r
}

// last returns the last message of a partition's subject.
func (w *world) last(t *testing.T, subject string) *jetstream.RawStreamMsg {
	t.Helper()
	s := must.Get(w.js.Stream(t.Context(), seqlock.Stream))(t)
	m := must.Get(s.GetLastMsgForSubject(t.Context(), subject))(t)
	return m
}

// eventually asks r until it has an answer.
func eventually(t *testing.T, r *seqlock.Reader) *event.Written {
	t.Helper()
	for range 3_000 {
		if w := r.Written(t.Context()); w != nil {
			return w
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the reader knows nothing after a minute: %+v", r.Stats())
	return nil
}

func write(t *testing.T, w *seqlock.Writer, seq uint64) {
	t.Helper()
	must.Do(t, w.Begin(t.Context()))
	w.End(event.Marks{"OBSERVATIONS": {Epoch: 1, Seq: seq}}, nil)
}

func TestReaderKnowsWhatIsWritten(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := w.reader(t)
	first, second := w.writer(t, 0), w.writer(t, 1)
	write(t, first, 7)
	time.Sleep(50 * time.Millisecond)
	if got := r.Written(t.Context()); got != nil {
		t.Fatalf("of one partition nothing is known, and the answer is %+v", got)
	}
	write(t, second, 9)
	got := eventually(t, r)
	if got.Partitions[0]["OBSERVATIONS"].Seq != 7 || got.Partitions[1]["OBSERVATIONS"].Seq != 9 {
		t.Fatalf("written: %+v", got.Partitions)
	}
	if again := r.Written(t.Context()); again != got {
		t.Error("nothing was written, and another pointer came")
	}
	moved := r.Moved()
	must.Do(t, second.Begin(t.Context()))
	for range 20 { // at once, and as long as the write lasts
		if got := r.Written(t.Context()); got != nil {
			t.Fatalf("partition 1 is being written, and the answer is %+v", got.Partitions)
		}
	}
	select {
	case <-moved:
		t.Error("told that a checkpoint was written while it is being written")
	default:
	}
	second.End(event.Marks{"OBSERVATIONS": {Epoch: 1, Seq: 10}}, nil)
	select {
	case <-moved:
	case <-time.After(10 * time.Second):
		t.Error("not told of a checkpoint that was written")
	}
	if got := eventually(t, r); got.Partitions[1]["OBSERVATIONS"].Seq != 10 {
		t.Errorf("written: %+v", got.Partitions)
	}
	late := w.reader(t) // knows what was written before it started
	if got := eventually(t, late); got.Partitions[0]["OBSERVATIONS"].Seq != 7 || got.Partitions[1]["OBSERVATIONS"].Seq != 10 {
		t.Errorf("a reader that came later: %+v", got.Partitions)
	}
}

// A leader that was deposed must not end what the next one has begun.
func TestDeposedLeaderEndsNothing(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := w.reader(t)
	write(t, w.writer(t, 1), 1)
	old, next := w.writer(t, 0), w.writer(t, 0)
	must.Do(t, old.Begin(t.Context()))
	must.Do(t, next.Begin(t.Context()))
	old.End(event.Marks{"OBSERVATIONS": {Epoch: 1, Seq: 2}}, nil)
	time.Sleep(100 * time.Millisecond)
	if got := r.Written(t.Context()); got != nil {
		t.Fatalf("the next leader writes, and the answer is %+v", got.Partitions)
	}
	next.End(event.Marks{"OBSERVATIONS": {Epoch: 1, Seq: 3}}, nil)
	if got := eventually(t, r); got.Partitions[0]["OBSERVATIONS"].Seq != 3 {
		t.Errorf("written: %+v", got.Partitions)
	}
}

// A lost stream proves nothing, and must not bring back earlier answers.
func TestLostStream(t *testing.T) {
	t.Parallel()
	w := start(t)
	r := w.reader(t)
	first, second := w.writer(t, 0), w.writer(t, 1)
	write(t, first, 1)
	write(t, second, 1)
	before := eventually(t, r)
	moved := r.Moved()
	must.Do(t, w.js.DeleteStream(t.Context(), seqlock.Stream))
	select { // a checkpoint may have been written
	case <-moved:
	case <-time.After(20 * time.Second):
		t.Error("not told that the stream is lost")
	}
	write(t, first, 2)
	for range 100 {
		if got := r.Written(t.Context()); got != nil {
			t.Fatalf("of partition 1 nothing is known any more, and the answer is %+v", got.Partitions)
		}
		time.Sleep(10 * time.Millisecond)
	}
	write(t, second, 2)
	if got := eventually(t, r); got == before || got.Partitions[0]["OBSERVATIONS"].Seq != 2 {
		t.Errorf("written: %+v", got.Partitions)
	}
}

// Where NATS has no memory for the stream, projectors still write, and readers
// know nothing; after there is memory, readers are informed even if no
// projector writes.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	s := must.Get(server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxMemory: 5 << 20, NoSigs: true}))(t)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS is not ready after 10 s")
	}
	w := at(t, s.ClientURL(), seqlock.Config{Partitions: 2})
	const other = "OTHER"
	must.Get(w.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: other, Storage: jetstream.MemoryStorage, MaxBytes: 4 << 20}))(t)
	r := w.reader(t)
	first, second := w.writer(t, 0), w.writer(t, 1)
	for seq := range uint64(3) {
		write(t, first, seq)
		write(t, second, seq)
		if got := r.Written(t.Context()); got != nil {
			t.Fatalf("there is no stream, and the answer is %+v", got.Partitions)
		}
	}
	if _, err := w.js.Stream(t.Context(), seqlock.Stream); err == nil {
		t.Error("there is a stream")
	}
	must.Do(t, w.js.DeleteStream(t.Context(), other))
	if got := eventually(t, r); got.Partitions[0]["OBSERVATIONS"].Seq != 2 || got.Partitions[1]["OBSERVATIONS"].Seq != 2 {
		t.Errorf("written: %+v", got.Partitions)
	}
	write(t, first, 3)
	if got := eventually(t, r); got.Partitions[0]["OBSERVATIONS"].Seq != 3 {
		t.Errorf("written: %+v", got.Partitions)
	}
}

// A reader that relies on an unchanged pointer never sees less than was there
// when it called Written. Two tables are written, by leaders that change, while
// readers read; now and then a write has no End before another leader begins,
// or its End is late.
func TestNeverStale(t *testing.T) {
	w := start(t)
	const writes, readers = 400, 3
	var tables [2]atomic.Uint64
	var writing sync.WaitGroup
	done := make(chan struct{})
	for partition := range tables {
		writing.Go(func() {
			writer := w.writer(t, partition)
			for n := uint64(1); n <= writes; n++ {
				if err := writer.Begin(t.Context()); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
				tables[partition].Store(n)
				switch rand.IntN(10) {
				case 0: // no End: another leader begins
					writer = w.writer(t, partition)
					continue
				case 1: // its End is late
					time.Sleep(2 * time.Millisecond)
				}
				writer.End(event.Marks{"OBSERVATIONS": {Seq: n}}, nil)
				time.Sleep(time.Duration(rand.IntN(6000)) * time.Microsecond)
			}
		})
	}
	var kept, asked atomic.Uint64
	var reading sync.WaitGroup
	for range readers {
		r := w.reader(t)
		reading.Go(func() {
			var last *event.Written
			var seen [2]uint64
			for {
				select {
				case <-done:
					return
				default:
				}
				there := [2]uint64{tables[0].Load(), tables[1].Load()}
				written := r.Written(t.Context())
				if written != nil && written == last {
					kept.Add(1)
				} else {
					if asked.Add(1); written == nil {
						time.Sleep(100 * time.Microsecond)
					}
					seen, last = [2]uint64{tables[0].Load(), tables[1].Load()}, written
				}
				for i := range seen {
					if seen[i] < there[i] {
						t.Errorf("partition %d: %d was there before the question, and %d was taken for current", i, there[i], seen[i])
					}
				}
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	t.Logf("%d answers by the pointer, %d by reading", kept.Load(), asked.Load())
	if kept.Load() < 100 {
		t.Errorf("only %d answers were given by the pointer", kept.Load())
	}
}

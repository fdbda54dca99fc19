package ingest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

func TestMain(m *testing.M) {
	testserver.AtOnce(6) // each has its own server, and mostly waits
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"))
}

// connect connects to a fresh server with the streams in place.
func connect(tb testing.TB) (*nats.Conn, jetstream.JetStream) {
	tb.Helper()
	return streams(tb, dial(tb, testserver.NATS(tb)))
}

func dial(tb testing.TB, url string, options ...nats.Option) *nats.Conn {
	tb.Helper()
	nc := must.Get(ingest.Connect(ingest.Config{URL: url, Name: tb.Name(), Logger: logger(tb)}, options...))(tb)
	tb.Cleanup(nc.Close)
	return nc
}

func streams(tb testing.TB, nc *nats.Conn) (*nats.Conn, jetstream.JetStream) {
	tb.Helper()
	js := must.Get(jetstream.New(nc))(tb)
	must.Do(tb, ingest.EnsureStreams(tb.Context(), js, ingest.StreamConfig{}))
	return nc, js
}

// firstEpoch returns the first epoch of a stream.
func firstEpoch(tb testing.TB, js jetstream.JetStream, stream string) uint32 {
	tb.Helper()
	s := must.Get(js.Stream(tb.Context(), stream))(tb)
	return uint32(s.CachedInfo().Created.Unix())
}

func newPublisher(tb testing.TB, nc *nats.Conn, c ingest.PublisherConfig) *ingest.Publisher {
	tb.Helper()
	p := must.Get(ingest.NewPublisher(nc, c, logger(tb)))(tb)
	tb.Cleanup(p.Close)
	return p
}

// publish publishes the events and waits for all of them.
func publish(tb testing.TB, nc *nats.Conn, events ...*event.Event) ingest.Stats {
	tb.Helper()
	p := must.Get(ingest.NewPublisher(nc, ingest.PublisherConfig{}, logger(tb)))(tb)
	defer p.Close()
	for _, e := range events {
		must.Do(tb, p.Publish(tb.Context(), e))
	}
	stats := must.Get(p.Flush(tb.Context()))(tb)
	return stats
}

func logger(tb testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// natsServer is a server that can be stopped and started again on its folder.
type natsServer struct {
	tb   testing.TB
	dir  string
	port int
	s    *server.Server
}

func startServer(tb testing.TB) *natsServer {
	n := &natsServer{tb: tb, dir: filepath.Join(tb.TempDir(), "nats"), port: -1}
	n.start()
	tb.Cleanup(n.stop)
	return n
}

func (n *natsServer) start() {
	n.tb.Helper()
	s := must.Get(server.NewServer(&server.Options{Host: "127.0.0.1", Port: n.port, StoreDir: n.dir, JetStream: true, NoSigs: true, NoLog: true}))(n.tb)
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		n.tb.Fatal("nats server does not start")
	}
	n.s, n.port = s, s.Addr().(*net.TCPAddr).Port
}

func (n *natsServer) stop() {
	n.s.Shutdown()
	n.s.WaitForShutdown()
}

func (n *natsServer) url() string { return "nats://127.0.0.1:" + strconv.Itoa(n.port) }

var producedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func eventID(kind, n int) string { return fmt.Sprintf("00000000-0000-4000-%04d-%012d", kind, n) }

// observations returns batch n, with size captures of one offer each.
func observations(n, size int) *event.Event {
	b := &contracts.Observations{Site: contracts.SiteKey("shop-" + strconv.Itoa(n%7) + ".example"), Run: "run-" + strconv.Itoa(n)}
	for i := range size {
		price := int64(1000 + n%500 + i)
		b.Observations = append(b.Observations, contracts.Observation{
			ItemID: contracts.ItemID(n*1000 + i + 1), CapturedAt: producedAt.Add(time.Duration(i) * time.Second), Outcome: contracts.PriceObserved,
			Offers: []contracts.Offer{{
				Merchant: "Merchant GmbH", Price: &price, CurrencyCode: "EUR", IsPrime: contracts.FlagTrue, Rating: "4.5",
				Title: "A product with a name of usual length, 500 g", URL: "https://shop.example/product/" + strconv.Itoa(n) + "?variant=1&ref=x",
			}},
		})
	}
	return &event.Event{ID: eventID(1, n), Kind: event.KindObservations, Producer: "test", ProducedAt: producedAt, Data: b}
}

// item returns the given version of the record of item n.
func item(n, version int) *event.Event {
	return &event.Event{
		ID: eventID(2, n*1000+version), Kind: event.KindItem, Producer: "test", ProducedAt: producedAt,
		Data: &contracts.Item{ItemID: contracts.ItemID(n), Name: "item " + strconv.Itoa(n) + " v" + strconv.Itoa(version)},
	}
}

// recorder is a Sink that keeps what it got. It outlives consumers, as tables
// outlive projectors.
type recorder struct {
	mu      sync.Mutex
	done    map[string]uint64 // by stream and epoch
	seen    []seen
	batches []event.Batch
	calls   int
	inside  int
	overlap bool
	under   int // begun and not finished
	most    int
	failed  int // of them
	finish  func(b *event.Batch)
	// before is called before each batch is applied; an error refuses the batch.
	before func(ctx context.Context, b *event.Batch) error
}

type seen struct {
	stream string
	epoch  uint32
	seq    uint64
	id     string
	record string // its subject, in the catalogue
}

func newRecorder() *recorder { return &recorder{done: map[string]uint64{}} }

func at(stream string, epoch uint32) string { return fmt.Sprintf("%s/%d", stream, epoch) }

// Resume continues from the newest position in the stream.
func (r *recorder) Resume(_ context.Context, stream string, now event.Incarnation) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overlap = r.overlap || r.inside > 0
	for epoch := now.Epoch; epoch >= now.Created; epoch-- {
		if seq, ok := r.done[at(stream, epoch)]; ok {
			return now.Same(epoch, seq), nil
		}
	}
	return 0, nil
}

func (r *recorder) Taken(_ context.Context, stream string, epoch uint32, first, last uint64) (map[uint64]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := map[uint64]string{}
	for _, s := range r.seen {
		if s.stream == stream && s.epoch == epoch && s.seq >= first && s.seq <= last {
			taken[s.seq] = cmp.Or(s.record, s.id)
		}
	}
	return taken, nil
}

func (r *recorder) ApplyCatalog(ctx context.Context, b *event.Batch) error {
	if b.Stream != event.StreamCatalog {
		return fmt.Errorf("catalog got %s", b.Stream)
	}
	return r.apply(ctx, b)
}

// BeginObservations fails a batch that is begun behind one that failed, and
// counts how many are under way at the same time.
func (r *recorder) BeginObservations(ctx context.Context, b *event.Batch) (finish func() error) {
	r.mu.Lock()
	r.under++
	r.most = max(r.most, r.under)
	behind := r.failed > 0
	r.mu.Unlock()
	var err error
	switch {
	case b.Stream != event.StreamObservations:
		err = fmt.Errorf("observations got %s", b.Stream)
	case behind:
		err = errors.New("the batch before it failed")
	default:
		err = r.apply(ctx, b)
	}
	if err != nil {
		r.mu.Lock()
		r.failed++
		r.mu.Unlock()
	}
	return func() error {
		if r.finish != nil {
			r.finish(b)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.under--
		if err != nil {
			r.failed--
		}
		return err
	}
}

func (r *recorder) apply(ctx context.Context, b *event.Batch) error {
	r.mu.Lock()
	r.calls++
	r.inside++
	r.overlap = r.overlap || r.inside > 1
	before := r.before
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.inside--
		r.mu.Unlock()
	}()
	if before != nil {
		if err := before(ctx, b); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := at(b.Stream, b.Epoch)
	if b.First != r.done[key]+1 && r.done[key] != 0 || b.Last < b.First {
		return fmt.Errorf("batch %d to %d after %d is not contiguous", b.First, b.Last, r.done[key])
	}
	last := b.First - 1
	for _, m := range b.Messages {
		if m.Seq <= last || m.Seq > b.Last {
			return fmt.Errorf("message %d out of order in batch %d to %d", m.Seq, b.First, b.Last)
		}
		last = m.Seq
		s := seen{stream: b.Stream, epoch: b.Epoch, seq: m.Seq, id: m.Event.ID}
		if b.Stream == event.StreamCatalog {
			s.record = m.Event.Subject()
		}
		r.seen = append(r.seen, s)
	}
	r.done[key] = b.Last
	r.batches = append(r.batches, *b)
	return nil
}

// ids returns the ids of a stream's events in the order they were applied.
func (r *recorder) ids(stream string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for _, s := range r.seen {
		if s.stream == stream {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// running is a consumer loop under way.
type running struct {
	*ingest.Consumer
	cancel context.CancelCauseFunc
	over   chan struct{}
}

func run(tb testing.TB, js jetstream.JetStream, c ingest.ConsumerConfig, sink ingest.Sink) *running {
	tb.Helper()
	consumer := must.Get(ingest.NewConsumer(c, js, sink, logger(tb)))(tb)
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &running{consumer, cancel, make(chan struct{})}
	go func() {
		defer close(r.over)
		if err := consumer.Run(ctx); err != nil {
			tb.Error("run:", err)
		}
	}()
	tb.Cleanup(r.stop)
	return r
}

func (r *running) stop() {
	r.cancel(nil)
	<-r.over
}

// reach waits until everything published so far is applied.
func (r *running) reach(tb testing.TB, js jetstream.JetStream) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	for _, stream := range []string{event.StreamCatalog, event.StreamObservations} {
		end := endOf(ctx, tb, js, stream)
		if err := r.CaughtUp(ctx, stream, end); err != nil {
			tb.Fatalf("%s does not reach %d: %v; %+v", stream, end, err, r.Progress())
		}
	}
}

// endOf is ingest.End. A request on a connection that breaks is never answered, and
// a client may learn late of a server that has been restarted: then it is sent
// again.
func endOf(ctx context.Context, tb testing.TB, js jetstream.JetStream, stream string) (end uint64) {
	tb.Helper()
	must.Eventually(tb, 30*time.Second, "the end of "+stream, func() bool {
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		var err error
		end, err = ingest.End(short, js, stream)
		return err == nil
	})
	return end
}

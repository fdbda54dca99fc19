package load_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/process"
	"preismon/ingest"
	"preismon/ingest/market"
)

var loadCompared = flag.Uint64("load.compared", 3_000, "how many remembered answers are compared with new ones")

// TestRememberedUnderLoad: while rows and records arrive, two nodes compare each
// answer that they remember with a new one, and find no difference in as many
// as -load.compared says.
func TestRememberedUnderLoad(t *testing.T) {
	effort.Full(t, "load")
	e := newEstate(t, market.Config{Seed: 11, Scale: 0.1}, 12*time.Hour)
	flags := []string{process.Compares, "--reads-per-minute", "10000000", "--heavy-at-once", "64"}
	nodes := []*process.Role{e.node(flags...), e.node(flags...)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	var read, failed atomic.Int64
	for i, name := range names {
		c := e.client(name, nodes[i%2].URL)
		c.logIn(t)
		c.findRows(t)
		ask := c.questions()
		for n := range 2 {
			running.Go(func() {
				tags := map[string]string{}
				for i := n; ctx.Err() == nil; i++ {
					path := ask(i)
					read.Add(1)
					status, tag, err := c.reread(context.WithoutCancel(ctx), path, tags[path])
					if errors.Is(err, io.ErrUnexpectedEOF) { // orders changed while its rows were read: "Ask again."
						status, tag, err = c.reread(context.WithoutCancel(ctx), path, tags[path])
					}
					tags[path] = tag
					if (err != nil || status != http.StatusOK && status != http.StatusNotModified) && failed.Add(1) <= 10 {
						t.Errorf("%s: %d, %v", path, status, err)
					}
				}
			})
		}
	}
	running.Go(func() { e.arrive(ctx) })
	began := time.Now()
	sum := func() (all process.Compared) {
		for _, n := range nodes {
			c, _ := n.Compared()
			all.Same, all.Different = all.Same+c.Same, all.Different+c.Different
		}
		return all
	}
	// A hundredth of a million takes a minute or two on two processors.
	until(t, time.Minute+time.Duration(*loadCompared)*50*time.Millisecond, "so many answers are compared", func() bool {
		c := sum()
		return c.Same >= *loadCompared || c.Different > 0
	})
	took := time.Since(began)
	cancel()
	running.Wait()
	same := process.WantCompared(t, nodes...)
	t.Logf("requests=%d failed=%d compared=%d, %.0f a second, for %v", read.Load(), failed.Load(), same, float64(same)/took.Seconds(), took.Round(time.Second))
}

// questions returns what a client asks for one after another: mostly the small
// reads that people make most, of many products, and every eighth time a larger
// one.
func (c *client) questions() func(i int) string {
	day := url.Values{"capturedFrom": {c.estate.from.Format(time.RFC3339)}, "capturedTo": {c.estate.from.Add(6 * time.Hour).Format(time.RFC3339)}}.Encode()
	site := "site=" + c.row.Get("site")
	small := []string{"/v1/sites", "/v1/items?limit=100", "/v1/orders?includeMonitoring=true", "/v1/results?latestPerPair=true&itemId=", "/v1/results?limit=10&itemId="}
	large := []string{
		"/v1/results?limit=200&latestObservationPerPair=true", "/v1/results?limit=200&" + site, "/v1/results/stream?" + site + "&" + day,
		"/v1/results?limit=50&includeExportFields=true&includeOrderIds=true&globalScope=true&" + day,
	}
	return func(i int) string {
		if i%8 == 7 {
			return large[i/8%len(large)]
		}
		path := small[i%len(small)]
		if strings.HasSuffix(path, "=") {
			path += c.products[i/len(small)%len(c.products)]
		}
		return path
	}
}

func (c *client) logIn(t testing.TB) {
	t.Helper()
	if r := c.send(t.Context(), login); r.status != http.StatusOK {
		t.Fatalf("log in: %+v", r)
	}
}

// reread reads a path, if it has changed since the answer with a tag, and
// returns the tag of the answer.
func (c *client) reread(ctx context.Context, path, tag string) (status int, newTag string, err error) {
	req, err := c.at("").Request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, tag, err
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	a, err := caller.Read(c.http.Do(req))
	if err != nil {
		return 0, tag, err
	}
	return a.StatusCode, a.Header.Get("ETag"), nil
}

// arrive lets rows of the time after the estate's period arrive, and records of
// the catalogue, until ctx ends.
func (e *estate) arrive(ctx context.Context) {
	t := e.t
	r := process.Start(t, "projector", "--nats-url", e.natsURL, "--clickhouse-dsn", e.clickhouse.DSN(embedded.ProjectorUser, ""), "--admin-listen", "127.0.0.1:0")
	defer r.Kill()
	bus, err := nats.Connect(e.natsURL)
	if err != nil {
		t.Error(err)
		return
	}
	defer bus.Close()
	p, err := ingest.NewPublisher(bus, ingest.PublisherConfig{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Error(err)
		return
	}
	defer p.Close()
	at := e.to
	for n := 0; ctx.Err() == nil; n++ {
		const step = time.Minute
		events := e.market.Observations(at, at.Add(step))
		if n%10 == 9 {
			events = e.market.Orders(at)
		} else {
			at = at.Add(step)
		}
		for event := range events {
			if err := p.Publish(context.WithoutCancel(ctx), event); err != nil {
				t.Error(err)
				return
			}
		}
		pause(ctx, 2*time.Second)
	}
}

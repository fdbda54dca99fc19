package rest_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver"
	"preismon/query"
	"preismon/query/admission"
	"preismon/query/auth"
)

// roll says which accounts are active, to all nodes.
type roll struct {
	accounts
	gone sync.Map
}

func (r *roll) Active(_ context.Context, all []contracts.AccountID) ([]contracts.AccountID, error) {
	return slices.DeleteFunc(slices.Clone(all), func(a contracts.AccountID) bool { _, gone := r.gone.Load(a); return gone }), nil
}

// lasting is a node whose streams take a minute, and that knows what is
// revoked on others as the real ones do.
type lasting struct {
	*surface
}

func lastingNode(t *testing.T, address string, people *roll, key ed25519.PrivateKey) *lasting {
	t.Helper()
	nc, err := nats.Connect(address)
	must(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	must(t, err)
	revoked, err := auth.NewRevokedTokens(auth.RevocationDefaults(), js, slog.New(slog.DiscardHandler), time.Now)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- revoked.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	<-revoked.Ready()
	e := &lasting{}
	e.surface = serve(t, func(set *settings) {
		set.key, set.revocations, set.people, set.unchecked = key, revoked, people, true
		set.smallBuffers = true
		// All fifty are one account's, and in tables too: more than its share of a node.
		set.query.Admission = admission.New(admission.Config{Memory: 2 << 30, Statements: 256, Wait: 10 * time.Second})
		set.throttle.HeavyAtOnce, set.throttle.Reads.Requests = 1000, 1_000_000
	})
	m := e.store
	m.allow(other, contracts.Permissions()...)
	m.ended = make(chan error, 100_000)
	m.blockMax = 2
	first := m.rows[0]
	m.rows = nil
	for i := range 4_000 {
		r := first
		r.captured, r.seq = first.captured.Add(time.Duration(i)*time.Millisecond), uint64(i+1)
		m.rows = append(m.rows, r)
	}
	m.each = func(int) error { time.Sleep(30 * time.Millisecond); return nil }
	return e
}

// taken is a stream as its client has it.
type taken struct {
	resp  *http.Response
	parks bool // takes nothing until the token is bad
	err   error
	rest  int64 // bytes after the token was bad
	took  time.Duration
}

// take opens a stream.
func (e *lasting) take(token, accept string) (*http.Response, error) {
	dialer := &net.Dialer{}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		if err == nil {
			_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		}
		return c, err
	}}}
	r, err := http.NewRequestWithContext(e.t.Context(), "GET", e.URL+"/v1/results/stream", nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", accept)
	resp, err := client.Do(r)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return resp, err
}

// Fifty streams on two nodes, some of clients that take nothing: when their
// token is bad, whatever made it so, all are broken off soon, on both nodes,
// and say so, while a stream with a good token goes on. Choice 67.
func TestStreamsDoNotOutliveTheirToken(t *testing.T) {
	t.Parallel() // it mostly waits
	address, people := testserver.NATS(t), &roll{}
	_, key, _ := ed25519.GenerateKey(nil)
	nodes := []*lasting{lastingNode(t, address, people, key), lastingNode(t, address, people, key)}
	forms := []string{"application/x-ndjson", "text/csv", "application/vnd.apache.arrow.stream"}
	const streams = 50
	for _, round := range []struct {
		name string
		end  func(token string)
	}{
		{"logout", func(token string) {
			if a := nodes[0].logout(token); a.StatusCode != http.StatusOK {
				t.Fatalf("%d %s", a.StatusCode, a.body)
			}
		}},
		{"expiry", nil},
		{"disabled account", func(string) { people.gone.Store(reader, true) }},
		{"rotated key", func(string) {
			_, other, _ := ed25519.GenerateKey(nil)
			for _, n := range nodes {
				next, err := auth.NewKeyring(other)
				must(t, err)
				n.keys.Replace(next)
			}
		}},
	} {
		t.Run(round.name, func(t *testing.T) {
			people.gone.Clear()
			lifetime := time.Hour
			if round.end == nil {
				lifetime = 15 * time.Second
			}
			issue := func(account contracts.AccountID, lifetime time.Duration) (string, time.Time) {
				issued, err := nodes[0].auth.Issue(auth.Grant{Account: account, Audience: auth.RESTAudience, Lifetime: lifetime})
				must(t, err)
				return issued.Token.Reveal(), issued.Expires
			}
			token, expires := issue(reader, lifetime)
			good, _ := issue(other, time.Hour)
			control, err := nodes[1].take(good, forms[0])
			must(t, err)
			defer control.Body.Close()

			all := make([]taken, streams)
			var open sync.WaitGroup
			for i := range all {
				open.Go(func() {
					s := &all[i]
					s.parks = i%5 == 0
					if s.resp, s.err = nodes[i%2].take(token, forms[i%3]); s.err == nil {
						_, s.err = io.ReadFull(s.resp.Body, make([]byte, 1<<10))
					}
				})
			}
			open.Wait()
			for i := range all {
				must(t, all[i].err)
			}
			time.Sleep(time.Second) // those that take nothing have full buffers
			bad := make(chan struct{})
			var readers sync.WaitGroup
			var began time.Time
			for i := range all {
				readers.Go(func() {
					s := &all[i]
					defer s.resp.Body.Close()
					buf := make([]byte, 4<<10)
					if s.parks {
						<-bad
						time.Sleep(3 * time.Second)
					}
					for {
						n, err := s.resp.Body.Read(buf)
						select {
						case <-bad:
							s.rest += int64(n)
							s.took = time.Since(began)
						default:
						}
						if s.err = err; err != nil {
							return
						}
					}
				})
			}
			if round.end == nil {
				time.Sleep(time.Until(expires))
				began = time.Now()
			} else {
				began = time.Now()
				round.end(token)
			}
			close(bad)
			readers.Wait()
			var took []time.Duration
			rest := int64(0)
			for i := range all {
				s := &all[i]
				if s.err == io.EOF || s.resp.Trailer.Get("X-Results-Complete") != "" {
					t.Errorf("stream %d: %v with trailer %v after %d bytes", i, s.err, s.resp.Trailer, s.rest)
				}
				if !s.parks {
					took = append(took, s.took)
				} else if s.rest > 256<<10 { // what had reached its own buffers
					t.Errorf("stream %d, which took nothing: %d bytes", i, s.rest)
				}
				rest += s.rest
			}
			slices.Sort(took)
			median, slowest := took[len(took)/2], took[len(took)-1]
			t.Logf("%d streams broken off, half of them after %v, the last after %v; %d kB", streams, median.Round(time.Millisecond), slowest.Round(time.Millisecond), rest>>10)
			if median > time.Second || slowest > 10*time.Second { // of the last, a machine that does much else has a part; the streams take a minute
				t.Errorf("half of the streams were broken off after %v, a second is promised, and the last after %v", median, slowest)
			}
			buf := make([]byte, 64<<10)
			for range 20 { // the control stream still runs, unless its key is gone, too
				if _, err = control.Body.Read(buf); err != nil {
					break
				}
			}
			if (err != nil) != (round.name == "rotated key") {
				t.Errorf("the stream of another account: %v", err)
			}
			if log := nodes[1].log.String(); !strings.Contains(log, `"code":"AUTH_TOKEN_INVALID"`) || !strings.Contains(log, `"broken":true`) {
				t.Error("the access log does not tell of it")
			}
		})
	}
}

// other is an account beside reader.
const other contracts.AccountID = 90

// A page that was read while its token went bad is refused before its first
// byte, and so is one whose account was disabled while it waited.
func TestPagesDoNotOutliveTheirToken(t *testing.T) {
	for name, end := range map[string]func(s *surface, people *roll, token string){
		"logout":           func(s *surface, _ *roll, token string) { s.logout(token) },
		"disabled account": func(_ *surface, people *roll, _ string) { people.gone.Store(reader, true) },
	} {
		t.Run(name, func(t *testing.T) {
			people := &roll{}
			s := serve(t, func(set *settings) { set.people = people })
			reached, goOn := make(chan struct{}), make(chan struct{})
			s.store.breakDown(func(method string) error {
				if method == "Sites" {
					close(reached)
					<-goOn
				}
				return nil
			})
			token := s.token(reader)
			go func() {
				<-reached
				end(s, people, token)
				time.Sleep(time.Second)
				close(goOn)
			}()
			s.get("/v1/sites", token).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
		})
	}
}

// trickle is an archive that sends a file slowly.
type trickle struct{}

func (trickle) Open(ctx context.Context, _ query.Artifact, _ int64) (io.ReadCloser, error) {
	return io.NopCloser(trickling{ctx}), nil
}

type trickling struct{ ctx context.Context }

func (r trickling) Read(p []byte) (int, error) {
	select {
	case <-r.ctx.Done():
		return 0, fault.Wrap(r.ctx.Err(), fault.Unavailable, "gone")
	case <-time.After(20 * time.Millisecond):
		return min(len(p), 8<<10), nil
	}
}

// A download is broken off, too.
func TestDownloadsDoNotOutliveTheirToken(t *testing.T) {
	t.Parallel() // it mostly waits
	w := newFilesWorld(t, func(set *settings) { set.archives, set.unchecked = []query.Archive{trickle{}}, true })
	w.add(document{order: orderA, job: 1, at: "2026-01-01T00:00:00Z", files: []file{{name: "a", filename: "a.csv", record: &contracts.ArchivedFile{
		Name: "a", Filename: "a.csv", SizeBytes: 100 << 20, SHA256: strings.Repeat("0", 64),
	}}}})
	token := w.token(reader)
	known, err := w.auth.Verify(token, auth.RESTAudience)
	must(t, err)
	time.AfterFunc(2*time.Second, func() { _ = w.revoked.Revoke(context.Background(), known.ID, known.Expires) })
	began := time.Now()
	resp, err := w.raw().Do(w.request("GET", fmt.Sprintf("/v1/orders/%d/exports/history/download", orderA), token, nil))
	must(t, err)
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	t.Logf("%d, %d bytes after %v: %v", resp.StatusCode, n, time.Since(began), err)
	switch {
	case resp.StatusCode == http.StatusUnauthorized: // before its first byte
	case resp.StatusCode != http.StatusOK || err == nil || n >= 100<<20:
		t.Errorf("status %d, %d bytes, %v", resp.StatusCode, n, err)
	}
	if took := time.Since(began); took > 15*time.Second { // of the minutes of the whole file
		t.Errorf("broken off after %v", took)
	}
}

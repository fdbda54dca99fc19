package client_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/cmd/preismon/client"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// cutter is a proxy that closes connections after a random number of bytes of
// the answers.
type cutter struct {
	URL  string
	mu   sync.Mutex
	rnd  *rand.Rand
	most int64
	cuts int
}

func cut(t *testing.T, server string, seed uint64, most int64) *cutter {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	p := &cutter{URL: "http://" + l.Addr().String(), rnd: rand.New(rand.NewPCG(seed, 1)), most: most}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go p.carry(in, strings.TrimPrefix(server, "http://"))
		}
	}()
	return p
}

func (p *cutter) carry(in net.Conn, to string) {
	defer in.Close() //nolint:errcheck // it is cut
	out, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer out.Close() //nolint:errcheck // it is cut
	go func() { _, _ = io.Copy(out, in) }()
	p.mu.Lock()
	budget := p.rnd.Int64N(p.most)
	p.mu.Unlock()
	if n, _ := io.CopyN(in, out, budget); n == budget {
		p.mu.Lock()
		p.cuts++
		p.mu.Unlock()
	}
}

// TestCutStreams: streams that break at random bytes yield each row once, in
// order, even though many share a capture time (GEN-G4, RES-11c).
func TestCutStreams(t *testing.T) {
	t.Parallel()
	for _, sort := range []string{"asc", "desc"} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(sort, seed), func(t *testing.T) {
				t.Parallel()
				s := &shop{t: t, rows: tied(3_000, time.Second, "a", "b")}
				p := cut(t, s.serve().URL, seed, 90_000)
				c, _ := s.client(p.URL)
				q := url.Values{"site": {"a"}, "sort": {sort}}
				got := must.Get(read(t, c, client.Results{Params: q, Stream: true}))(t)
				equals.Checkf(t, s.want(q), got, "after %d cuts", p.cuts)
				if p.cuts < 3 {
					t.Errorf("only %d cuts", p.cuts)
				}
			})
		}
	}
}

// TestPages: pages are followed as long as there is a cursor, also after an
// empty page (RES-11c, CUR-01b).
func TestPages(t *testing.T) {
	t.Parallel()
	s := &shop{t: t, rows: tied(20_500, time.Second, "a")}
	empty := true
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if !empty || r.URL.Query().Get("cursor") != "" {
			return false
		}
		empty = false
		answer(w, nil, 100, "0~site=a", `{"scope":"scoped","capturedFrom":null,"capturedTo":null,"timezone":"UTC","sort":"desc","latestPerPair":false,"latestObservationPerPair":false}`)
		return true
	}
	c := unchecked(t, s.serve().URL) // the rows are those of the other tests
	q := url.Values{"site": {"a"}}
	for _, most := range []int64{0, 1, 10_001, 30_000} {
		empty = true
		want := s.want(q)
		if most > 0 {
			want = want[:min(most, int64(len(want)))]
		}
		got, err := read(t, c, client.Results{Params: q, Most: most})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("at most %d: %v %s", most, err, diff)
		}
	}
}

// TestEndsThatLie: a stream that ends without its trailers, or with a wrong
// count, has not ended: pages show whether there is more.
func TestEndsThatLie(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]func(w http.ResponseWriter, rows []row){
		"no trailers": func(w http.ResponseWriter, rows []row) { stream(w, rows, nil) },
		"wrong count": func(w http.ResponseWriter, rows []row) {
			stream(w, rows[:100], map[string]string{"X-Results-Complete": "true", "X-Results-Returned": strconv.Itoa(len(rows))})
		},
		"part, no trailers": func(w http.ResponseWriter, rows []row) { stream(w, rows[:100], nil) },
		"not complete": func(w http.ResponseWriter, rows []row) {
			stream(w, rows[:100], map[string]string{"X-Results-Complete": "false", "X-Results-Returned": "100"})
		},
		"half a line": func(w http.ResponseWriter, rows []row) {
			stream(w, rows[:5], nil)
			_, _ = io.WriteString(w, rows[5].json()[:40])
		},
		"nothing": func(w http.ResponseWriter, _ []row) { stream(w, nil, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{t: t, rows: tied(900, time.Second, "a")}
			q := url.Values{"site": {"a"}}
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/v1/results/stream" {
					return false
				}
				var at int
				if _, err := fmt.Sscanf(r.URL.Query().Get("cursor"), "%d~", &at); err != nil {
					t.Error(err)
				}
				rows := s.matching(q)[at:]
				if len(rows) < 200 {
					return false
				}
				lie(w, rows)
				return true
			}
			c := unchecked(t, s.serve().URL)
			got, err := read(t, c, client.Results{Params: q, Stream: true})
			if diff := cmp.Diff(s.want(q), got); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

// TestOtherRows: where the rows after a cursor are no longer the same, the read
// ends as incomplete instead of guessing.
func TestOtherRows(t *testing.T) {
	t.Parallel()
	s := &shop{t: t, rows: tied(900, time.Second, "a")}
	q := url.Values{"site": {"a"}}
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/results/stream" {
			return false
		}
		stream(w, s.matching(q)[150:170], nil) // not the rows after the cursor
		return true
	}
	got, err := read(t, unchecked(t, s.serve().URL), client.Results{Params: q, Stream: true})
	if err == nil || len(got) != 120 || !strings.Contains(err.Error(), "120 rows") || !strings.Contains(err.Error(), "other rows") {
		t.Errorf("%d rows, %v", len(got), err)
	}
}

func stream(w http.ResponseWriter, rows []row, trailer map[string]string) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Results-Scope", "scoped")
	w.Header().Set("Trailer", "X-Results-Complete, X-Results-Returned")
	for _, r := range rows {
		_, _ = fmt.Fprintln(w, r.json())
	}
	for name, value := range trailer {
		w.Header().Set(name, value)
	}
}

package faults_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/proxy"
)

// Query services that are built wrong, as a relay before the right one: what
// comes of an answer that breaks off.

// relay passes an answer on in a wrong way.
type relay func(w http.ResponseWriter, r *http.Request, from *http.Response)

// broken passes everything on, also that the answer broke off.
func broken(w http.ResponseWriter, _ *http.Request, from *http.Response) {
	w.Header().Set("Trailer", "X-Results-Complete, X-Results-Returned")
	if _, err := io.Copy(w, from.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range from.Trailer {
		w.Header()[name] = values
	}
}

// swallowed ends an answer that broke off as if all was well.
func swallowed(w http.ResponseWriter, _ *http.Request, from *http.Response) {
	_, _ = io.Copy(w, from.Body)
}

// unread takes the end of the rows for their success: it does not look why
// there are no more.
func unread(w http.ResponseWriter, _ *http.Request, from *http.Response) {
	w.Header().Set("Trailer", "X-Results-Complete, X-Results-Returned")
	n := 0
	for in := bufio.NewReader(from.Body); ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		_, _ = w.Write(line)
	}
	w.Header().Set("X-Results-Complete", "true")
	w.Header().Set("X-Results-Returned", strconv.Itoa(n))
}

// TestFaultSuiteCanFailQuery: the readers find query services that are built
// wrong.
func TestFaultSuiteCanFailQuery(t *testing.T) {
	testserver.Full(t, "faults in a broken query service")
	w := newWorld(t, 1)
	w.startQuery()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := w.project(ctx, sound); err != nil {
		t.Fatal(err)
	}
	stop := w.live()
	time.Sleep(time.Second)
	stop()
	rows, err := readTimes(ctx, 50, func() (int, error) { rows, err := w.readers[0].stream(ctx); return len(rows), err })
	if err != nil || rows < 100 {
		t.Fatalf("%d rows, %v", rows, err)
	}
	cut := proxy.New(t, w.query.Listen())
	upstream := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	for _, c := range []struct {
		name   string
		wrong  relay
		stream bool
		other  bool // asks with the token of the other mandate
		want   string
	}{
		{"swallowed-abort-of-a-stream", swallowed, true, false, "I5"},
		{"swallowed-abort-of-a-page", swallowed, false, false, "I5"},
		{"ignored-rows-error", unread, true, false, "I5"},
		{"scope-not-in-the-query", broken, false, true, "I4"},
		{"the right one, a stream", broken, true, false, ""},
		{"the right one, a page", broken, false, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				req, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+cut.Address()+r.URL.RequestURI(), r.Body)
				if err != nil {
					panic(err)
				}
				req.Header = r.Header.Clone()
				req.Header.Del("Accept-Encoding")
				if c.other {
					req.Header.Set("Authorization", "Bearer "+w.readers[1].token)
				}
				resp, err := upstream.Do(req)
				if err != nil {
					rw.WriteHeader(http.StatusBadGateway)
					return
				}
				defer resp.Body.Close() //nolint:errcheck // of a test
				c.wrong(rw, r, resp)
			}))
			defer server.Close()
			reader := w.readers[0]
			right := reader.base
			reader.base = func() string { return server.URL }
			defer func() { reader.base = right }()
			if c.other {
				if err := w.readers[1].login(ctx); err != nil {
					t.Fatal(err)
				}
			}
			for n := range 30 {
				if !c.other {
					cut.Set(proxy.Down, proxy.Rule{Left: 2000 + int64(n)*200, Then: proxy.Break})
				}
				read := func() (map[int64]*fact, error) { return reader.pages(ctx, 1000) }
				if c.stream {
					read = func() (map[int64]*fact, error) { return reader.stream(ctx) }
				}
				_, err := read()
				cut.Heal()
				var f *finding
				switch found := errors.As(err, &f); {
				case found && c.want == f.invariant:
					fmt.Printf("broken=%s caught=%d by %s\n", c.name, n+1, f)
					return
				case found:
					t.Fatalf("%d: %v", n, err)
				case err == nil && !c.other:
					t.Fatalf("%d: it did not break", n)
				}
			}
			if c.want == "" {
				return
			}
			t.Error("thirty broken answers did not show that it is built wrong")
		})
	}
}

// readTimes reads until there is an answer.
func readTimes(ctx context.Context, times int, read func() (int, error)) (n int, err error) {
	for range times {
		if n, err = read(); err == nil && n > 100 {
			return n, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return n, errors.Join(err, ctx.Err())
}

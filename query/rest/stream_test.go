package rest_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query/table/tabletest"
)

func newRecorder() *httptest.ResponseRecorder { return httptest.NewRecorder() }

// raw returns a client that decodes nothing by itself.
func (s *surface) raw() *http.Client {
	tr := s.Server.Client().Transport.(*http.Transport).Clone()
	tr.DisableCompression = true
	s.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func decoded(t testing.TB, resp *http.Response) io.Reader {
	t.Helper()
	switch resp.Header.Get("Content-Encoding") {
	case "gzip":
		z := must.Get(gzip.NewReader(resp.Body))(t)
		return z
	case "zstd":
		z := must.Get(zstd.NewReader(resp.Body))(t)
		t.Cleanup(z.Close)
		return z
	}
	return resp.Body
}

var codings = []string{"identity", "gzip", "zstd"}

func TestStream(t *testing.T) { // RES-14a, STR-00a
	s := serve(t)
	for _, args := range []string{"", "sort=asc", "itemId=11", "site=shop-two&includeExportFields=true", "includeIdentity=true&includeOrderIds=true&includeCustomerData=true&includeCoverage=true", "latestPerPair=true", "coverageState=NO_RESULT"} {
		want := s.get("/v1/results?limit=10000&"+args, s.token(reader))
		_, rows, _ := bytes.Cut(want.body, []byte(`"data":[`))
		a := s.get("/v1/results/stream?"+args, s.token(reader))
		lines := bytes.TrimSuffix(a.body, []byte("\n"))
		if got := bytes.ReplaceAll(lines, []byte("}\n{"), []byte("},{")); !bytes.HasPrefix(rows, append(got, ']')) {
			t.Errorf("%s: the stream has other rows:\n%s\n%s", args, got, rows)
		}
		if a.Header.Get("X-Results-Scope") != "scoped" || a.Trailer.Get("X-Results-Complete") != "true" {
			t.Errorf("%s: %v %v", args, a.Header, a.Trailer)
		}
		if n := strings.Count(string(a.body), "\n"); a.Trailer.Get("X-Results-Returned") != strconv.Itoa(n) || decode[page](t, want).Paging.Returned != n {
			t.Errorf("%s: %d lines, trailer %v", args, n, a.Trailer)
		}
		wantQuota(t, a)
	}
	day := time.Now().UTC().AddDate(0, 0, -2).Format(time.DateOnly)
	global := s.get("/v1/results/stream?globalScope=true&capturedFrom="+day+"&capturedTo="+time.Now().UTC().Format(time.DateOnly), s.token(reader))
	if global.Header.Get("X-Results-Scope") != "global" { // RES-04e, STR-Q1
		t.Errorf("%v", global.Header)
	}
	first := s.page("/v1/results", "limit=20") // a cursor of a page resumes the stream
	resumed := s.get("/v1/results/stream?cursor="+first.Paging.NextCursor, s.token(reader))
	if resumed.Trailer.Get("X-Results-Returned") != "30" {
		t.Errorf("%d %v", resumed.StatusCode, resumed.Trailer)
	}
}

// The first rows are sent while the store is still at work, and so are the
// later ones, however few.
func TestStreamDoesNotHoldRowsBack(t *testing.T) {
	for _, coding := range codings {
		t.Run(coding, func(t *testing.T) {
			s := serve(t)
			s.store.blockMax = 1
			next := make(chan struct{})
			t.Cleanup(func() { close(next) })
			s.store.each = func(n int) error {
				if n >= 1 && n <= 3 {
					<-next
				}
				return nil
			}
			r := s.request("GET", "/v1/results/stream", s.token(reader), nil)
			r.Header.Set("Accept-Encoding", coding)
			resp := must.Get(s.raw().Do(r))(t)
			defer resp.Body.Close()
			lines := bufio.NewReader(decoded(t, resp))
			for range 3 {
				if _, err := lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				next <- struct{}{}
			}
			rest := must.Get(io.ReadAll(lines))(t)
			if n := bytes.Count(rest, []byte("\n")); n != 47 {
				t.Errorf("%d further lines", n)
			}
		})
	}
}

// failures are the ways in which a stream can end too early.
var failures = map[string]func(n int) error{
	"store": func(n int) error {
		if n == 3 {
			return errBroken
		}
		return nil
	},
	"timeout": func(n int) error {
		if n == 3 {
			return &fault.Error{Kind: fault.Timeout, Err: errBroken}
		}
		return nil
	},
	"panic": func(n int) error {
		if n == 3 {
			panic("secret cause")
		}
		return nil
	},
	"at the end": func(n int) error {
		if n == 8 {
			return errBroken
		}
		return nil
	},
}

// A stream that fails after its first byte visibly fails, in every form, both
// by its transfer and by its compression, and what was received has no end.
func TestBrokenStreamsAreVisible(t *testing.T) {
	every := effort.Often(3, 1)
	for f, name := range slices.Sorted(maps.Keys(failures)) {
		for h, h2 := range []bool{false, true} {
			for m, media := range tables {
				for c, coding := range codings {
					if (f+h+m+c)%every == 0 {
						brokenStream(t, name, failures[name], h2, media, coding)
					}
				}
			}
		}
	}
}

func brokenStream(t *testing.T, name string, each func(int) error, h2 bool, media, coding string) {
	t.Helper()
	s := serve(t, func(set *settings) { set.http2 = h2 })
	s.store.each = each
	r := s.request("GET", "/v1/results/stream", s.token(reader), nil)
	r.Header.Set("Accept", media)
	r.Header.Set("Accept-Encoding", coding)
	resp, err := s.raw().Do(r)
	if err != nil {
		return // broken before the header was sent
	}
	sent, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	what := fmt.Sprintf("%s, %s, %s, HTTP/%d", name, media, coding, resp.ProtoMajor)
	if err == nil {
		t.Errorf("%s: %d bytes and no error", what, len(sent))
	}
	if resp.Trailer.Get("X-Results-Complete") != "" {
		t.Errorf("%s: says it is complete", what)
	}
	if name != "at the end" && !h2 && media == ndjsonMedia && len(sent) == 0 {
		t.Errorf("%s: nothing came before the break", what)
	}
	if len(sent) > 0 {
		resp.Body = io.NopCloser(bytes.NewReader(sent))
		plain, err := io.ReadAll(decoded(t, resp))
		if err == nil && resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: what came decodes as if it were whole", what)
		}
		if _, err := tabletest.Arrow(plain, time.UTC); err == nil {
			t.Errorf("%s: a whole table came", what)
		}
		if _, err := tabletest.Parquet(plain, time.UTC); err == nil {
			t.Errorf("%s: a whole file came", what)
		}
	}
	s.Close()
	if log := s.log.String(); !strings.Contains(log, "secret cause") || !strings.Contains(log, `"broken":true`) {
		t.Errorf("%s: log %s", what, log)
	}
}

func TestCurlSeesBrokenStreams(t *testing.T) {
	curl := func(coding string, each func(int) error) error {
		s := serve(t)
		s.store.each = each
		args := []string{"-sS", "--max-time", "20", "-o", "/dev/null", "-H", "Authorization: Bearer " + s.token(reader), s.URL + "/v1/results/stream"}
		if coding != "identity" {
			args = append(args, "--compressed", "-H", "Accept-Encoding: "+coding)
		}
		out, err := exec.CommandContext(t.Context(), "curl", args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
		}
		return nil
	}
	for _, coding := range codings {
		if err := curl(coding, nil); err != nil {
			t.Errorf("%s: a whole stream fails: %v", coding, err)
		}
		for name, each := range failures {
			if err := curl(coding, each); err == nil {
				t.Errorf("%s, %s: a broken stream passes", coding, name)
			}
		}
	}
}

// A client that leaves while its page is read ends the read, and nothing is
// logged as a failure.
func TestPageEndsWhenTheClientLeaves(t *testing.T) {
	t.Parallel() // it mostly waits
	s := serve(t)
	entered := make(chan struct{})
	s.store.each = func(int) error {
		close(entered)
		time.Sleep(200 * time.Millisecond)
		return errBroken // as from a server whose query was cancelled, whatever it calls that
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-entered
		leave()
	}()
	if resp, err := s.raw().Do(s.request("GET", "/v1/results", s.token(reader), nil).WithContext(ctx)); err == nil {
		resp.Body.Close()
		t.Fatal("an answer")
	}
	<-s.store.ended
	s.Close()
	if log := s.log.String(); strings.Contains(log, "request failed") {
		t.Errorf("a client that leaves is no failure of ours: %s", log)
	}
}

func TestStreamEndsWhenTheClientIsStuck(t *testing.T) {
	t.Parallel() // it mostly waits
	s := serve(t, func(set *settings) { set.rest.Stall = time.Second })
	for len(s.store.rows) < 60_000 {
		s.store.rows = append(s.store.rows, s.store.rows[:50]...)
	}
	s.store.blockMax = 10_000
	conn := must.Get(net.Dial("tcp", s.Listener.Addr().String()))(t)
	defer conn.Close()
	must.Do(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	must.Get(io.WriteString(conn, "GET /v1/results/stream?includeExportFields=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+s.token(reader)+"\r\n\r\n"))(t)
	select {
	case err := <-s.store.ended:
		if err == nil {
			t.Error("the store was read to its end")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the store is still read")
	}
}

// The store may find nothing for longer than a client may stall: the end is
// still sent.
func TestStreamEndsAfterASilence(t *testing.T) {
	t.Parallel() // it mostly waits
	s := serve(t, func(set *settings) { set.rest.Stall = time.Second })
	s.store.each = func(n int) error {
		if n == 8 {
			time.Sleep(1600 * time.Millisecond) // a row may be flushed in the meantime
		}
		return nil
	}
	var all sync.WaitGroup
	for _, media := range []string{ndjsonMedia, csvMedia} {
		r, client := s.request("GET", "/v1/results/stream", s.token(reader), nil), s.raw()
		r.Header.Set("Accept", media)
		all.Go(func() {
			resp, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.Trailer.Get("X-Results-Complete") != "true" {
				t.Errorf("%s: %v, trailer %v", media, err, resp.Trailer)
			}
		})
	}
	all.Wait()
}

// An HTTP/1.0 answer ends with its connection: nothing could distinguish a
// broken stream from a complete one.
func TestStreamNeedsHTTP11(t *testing.T) {
	s := serve(t)
	conn := must.Get(net.Dial("tcp", s.Listener.Addr().String()))(t)
	defer conn.Close()
	must.Get(io.WriteString(conn, "GET /v1/results/stream HTTP/1.0\r\nAuthorization: Bearer "+s.token(reader)+"\r\n\r\n"))(t)
	resp := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	body := must.Get(io.ReadAll(resp.Body))(t)
	answer{resp, body}.wantProblem(t, 400, "MVP_VALIDATION_ERROR")
}

package rest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"preismon/archive"
	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
	"preismon/query"
)

// broken reads an answer that must not look complete, and returns how many
// bytes came.
func (w *filesWorld) broken(r *http.Request, size int) int {
	w.t.Helper()
	resp, err := w.raw().Do(r)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 && resp.StatusCode != 206 {
		body, _ := io.ReadAll(resp.Body)
		w.t.Fatalf("%d %s", resp.StatusCode, body)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil || n >= int64(size) {
		w.t.Errorf("%d of %d bytes and %v: the transfer looks complete", n, size, err)
	}
	return int(n)
}

// Anything but the recorded content is never sent in full: an archive that
// fails in the middle breaks the transfer, with HTTP/1.1 and HTTP/2.
func TestDownloadBreaksVisibly(t *testing.T) {
	const size = 2*query.DownloadBuffer + 300_000
	base, good := newFilesWorldOn(t, nil), noise(size)
	base.add(document{query.Exports, orderA, 11, "2026-03-01T05:00:00Z", []file{{name: "f", filename: "f.csv", content: good}}})
	for _, http2 := range []bool{false, true} {
		stop := errors.New("the archive went away")
		var content atomic.Value // func(offset int64) io.Reader
		a := shelf(func(_ context.Context, _ query.Artifact, offset int64) (io.ReadCloser, error) {
			return io.NopCloser(content.Load().(func(int64) io.Reader)(offset)), nil
		})
		w := base.of(t, func(s *settings) { s.archives, s.http2 = []query.Archive{a}, http2 })
		content.Store(func(offset int64) io.Reader { return bytes.NewReader(good[offset:]) })
		w.fetch(only("f")) // and it is known to be good
		for _, at := range []int{0, 1, size / 2, size - 1} {
			content.Store(func(offset int64) io.Reader {
				return io.MultiReader(bytes.NewReader(good[offset:max(at, int(offset))]), failing{stop})
			})
			if at < query.DownloadBuffer { // nothing was sent before
				w.get(only("f"), w.token(reader)).wantProblem(t, 500, "INTERNAL_ERROR")
				continue
			}
			w.broken(w.request("GET", only("f"), w.token(reader), nil), size)
			if !http2 {
				err := exec.Command("curl", "-s", "-f", "-o", filepath.Join(t.TempDir(), "f"), "-H", "Authorization: Bearer "+w.token(reader), w.URL+only("f")).Run()
				if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() == 22 { // 22: an error status
					t.Errorf("broken at %d, curl says %v", at, err)
				}
			}
			r := w.request("GET", only("f"), w.token(reader), nil)
			r.Header.Set("Range", "bytes=10-")
			w.broken(r, size-10)
			content.Store(func(offset int64) io.Reader { return bytes.NewReader(good[offset:max(at, int(offset))]) }) // ends early
			w.broken(w.request("GET", only("f"), w.token(reader), nil), size)
		}
		if !strings.Contains(w.log.String(), stop.Error()) || !strings.Contains(w.log.String(), `"broken":true`) {
			t.Error("the log does not say why")
		}
	}
}

// A damaged copy is not sent, whatever part of it is requested: the next
// archive is tried, and where none has a good copy the answer is a problem.
func TestDownloadOfDamagedFiles(t *testing.T) {
	first, second := folder(t), folder(t)
	w := newFilesWorldOn(t, []archive.Store{first, second})
	const large = 2*query.DownloadBuffer + 300_000
	for n, size := range []int{1, 300_000, query.DownloadBuffer, query.DownloadBuffer + 1, large} {
		for i, at := range []int{0, size / 2, size - 1} {
			if every := effort.Often(3, 1); n%every != i%every {
				continue
			}
			good, name := noise(size), fmt.Sprintf("%d: %d of %d", i, at, size)
			bad := bytes.Clone(good)
			bad[at] ^= 1
			ref := w.add(document{query.Exports, orderA, 11, "2026-03-01T05:00:00Z", []file{{name: name, filename: "f.csv", content: good}}})[0]
			w.put(first, archive.RefOf(ref.Key, bad), bad)
			ranges := []string{"", fmt.Sprintf("bytes=%d-%d", at, at), fmt.Sprintf("bytes=%d-", size-1), "bytes=0-0"}
			before := w.service.Stats()
			for _, part := range ranges {
				r := w.request("GET", only(name), w.token(reader), nil)
				r.Header.Set("Range", part)
				w.do(r).wantProblem(t, 500, "INTERNAL_ERROR")
			}
			w.put(second, ref, good)
			for _, part := range ranges {
				r := w.request("GET", only(name), w.token(reader), nil)
				r.Header.Set("Range", part)
				from, to := 0, size
				if n, _ := fmt.Sscanf(part, "bytes=%d-%d", &from, &to); n == 2 {
					to++
				}
				if a := w.do(r); a.StatusCode/100 != 2 || !bytes.Equal(a.body, good[from:to]) {
					t.Errorf("%s, %q: %d, %d bytes", name, part, a.StatusCode, len(a.body))
				}
			}
			after := w.service.Stats()
			if d := after.Damaged - before.Damaged; d < 5 { // one for each refusal, and at least one more
				t.Errorf("%s: %d damaged copies are counted", name, d)
			}
			equals.Is(t, 4, after.Found-before.Found, "%s are counted as found", name)
		}
	}
	// A wrong size is noticed before a byte is read.
	good := noise(5000)
	ref := w.add(document{query.Exports, orderA, 11, "2026-03-01T05:00:00Z", []file{{name: "short", filename: "f.csv", content: good}}})[0]
	w.put(first, archive.RefOf(ref.Key, good[1:]), good[1:])
	w.get(only("short"), w.token(reader)).wantProblem(t, 500, "INTERNAL_ERROR")
}

// When a copy is damaged after it was found good, the transfer switches to
// another archive in the middle and goes on with the right bytes.
func TestDownloadGoesOnInAnotherArchive(t *testing.T) {
	const size = 3*query.DownloadBuffer + 5
	good := noise(size)
	bad := bytes.Clone(good)
	bad[query.DownloadBuffer+7] ^= 1
	var now atomic.Pointer[[]byte]
	now.Store(&good)
	changing := shelf(func(_ context.Context, _ query.Artifact, offset int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader((*now.Load())[offset:])), nil
	})
	behind := shelf(func(_ context.Context, _ query.Artifact, offset int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(good[offset:])), nil
	})
	w := newFilesWorldOn(t, nil, func(s *settings) { s.archives = []query.Archive{changing, behind} })
	w.add(document{query.Exports, orderA, 11, "2026-03-01T05:00:00Z", []file{{name: "f", filename: "f.zip", content: good}}})
	w.fetch(only("f"))
	now.Store(&bad)
	if a := w.fetch(only("f")); !bytes.Equal(a.body, good) {
		t.Errorf("%d bytes, and not those of the file", len(a.body))
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// If the connection to MinIO is cut before the first piece of the file, the
// answer is a 503; if it is cut later, the rest is read on a new connection.
func TestDownloadWhenS3IsCut(t *testing.T) {
	const size = 2*query.DownloadBuffer + 4*mib
	var line *proxy.Proxy
	w := newFilesWorldOn(t, []archive.Store{bucket(t, func(server string) string {
		line = proxy.New(t, server)
		return line.Address()
	})})
	content := noise(size)
	w.publish(query.Exports, orderA, 11, "2026-03-01T05:00:00Z", "f", "f.zip", content)
	w.publish(query.Exports, orderA, 11, "2026-03-01T05:00:00Z", "new", "f.zip", noise(size))
	if a := w.fetch(only("f")); !bytes.Equal(a.body, content) {
		t.Fatal("other bytes")
	}
	cut := func(after int64) { // bytes of answers on each connection
		line.Set(proxy.Down, proxy.Rule{Left: after, Each: true, Then: proxy.End})
		line.Close()
	}
	for _, after := range []int64{64 << 10, query.DownloadBuffer - 1000, 0} {
		cut(after)
		w.get(only("f"), w.token(reader)).wantProblem(t, 503, "SERVICE_UNAVAILABLE")
	}
	for _, after := range []int64{query.DownloadBuffer + 64<<10, size - 1000} {
		cut(after)
		if a := w.fetch(only("f")); !bytes.Equal(a.body, content) {
			t.Errorf("cut after %d bytes: other bytes", after)
		}
		w.get(only("new"), w.token(reader)).wantProblem(t, 503, "SERVICE_UNAVAILABLE") // it was never read to its end
	}
	line.Heal()
	if a := w.fetch(only("f")); !bytes.Equal(a.body, content) {
		t.Error("other bytes after the fault")
	}
}

// A client that leaves releases the reader of its file at once.
func TestDownloadEndsWithItsClient(t *testing.T) {
	const size = 32 * mib // more than what is buffered on the way
	base := newFilesWorldOn(t, nil)
	base.add(document{query.Exports, orderA, 11, "2026-03-01T05:00:00Z", []file{
		{name: "f", filename: "f.csv", record: &contracts.ArchivedFile{SizeBytes: size, SHA256: strings.Repeat("a", 64)}},
	}})
	for _, http2 := range []bool{false, true} {
		for _, stalled := range []bool{false, true} { // the archive, in the middle of the file
			reading := &endless{closed: make(chan struct{}), stalled: stalled}
			opened := 0
			a := shelf(func(ctx context.Context, _ query.Artifact, _ int64) (io.ReadCloser, error) {
				if opened++; opened == 1 { // to be verified
					return io.NopCloser(io.LimitReader(&endless{ctx: ctx}, size)), nil
				}
				reading.ctx = ctx
				return reading, nil
			})
			w := base.of(t, func(s *settings) { s.archives, s.http2 = []query.Archive{a}, http2 })
			ctx, leave := context.WithCancel(t.Context())
			resp := must.Get(w.raw().Do(w.request("GET", only("f"), w.token(reader), nil).WithContext(ctx)))(t)
			must.Get(io.ReadFull(resp.Body, make([]byte, 1000)))(t)
			left := time.Now()
			leave()
			resp.Body.Close()
			select {
			case <-reading.closed:
				if took := time.Since(left); took > 10*time.Second {
					t.Errorf("the reader was freed after %v", took)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("stalled %v: the reader is not freed", stalled)
			}
		}
	}
}

type endless struct {
	ctx     context.Context
	stalled bool
	read    int
	once    sync.Once
	closed  chan struct{}
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read += len(p); e.stalled && e.read > 2*query.DownloadBuffer {
		<-e.ctx.Done()
	}
	return len(p), e.ctx.Err()
}

func (e *endless) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

// A file is streamed, not held in memory, whether it is requested in full or in
// part.
func TestDownloadMemory(t *testing.T) {
	const size = 24 * mib
	w := newFilesWorld(t, func(s *settings) { s.unchecked = true })
	h := sha256.New()
	must.Get(io.Copy(h, random(size)))(t)
	record := &contracts.ArchivedFile{SizeBytes: size, SHA256: hex.EncodeToString(h.Sum(nil))}
	ref := w.add(document{query.Exports, orderA, 11, "2026-03-01T05:00:00Z", []file{{name: "big", filename: "b.zip", record: record}}})[0]
	must.Do(t, w.archives[0].Put(t.Context(), ref, random(size)))
	for _, from := range []int64{0, 1} {
		r := w.request("GET", only("big"), w.token(reader), nil)
		if from > 0 {
			r.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
		}
		began := time.Now()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		resp := must.Get(w.raw().Do(r))(t)
		sum := sha256.New()
		n := must.Get(io.Copy(sum, resp.Body))(t)
		resp.Body.Close()
		runtime.ReadMemStats(&after)
		if n != size-from || from == 0 && hex.EncodeToString(sum.Sum(nil)) != record.SHA256 {
			t.Errorf("from %d: %d bytes", from, n)
		}
		got := after.TotalAlloc - before.TotalAlloc
		if t.Logf("from %d: %d MiB in %v with %d KiB allocated", from, size/mib, time.Since(began), got>>10); got > 8*mib {
			t.Errorf("from %d: %d MiB allocated %d MiB", from, size/mib, got/mib)
		}
	}
}

func random(size int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{1}), size) }

// noise returns content that differs from call to call.
func noise(size int) []byte {
	p := make([]byte, size)
	seed := [32]byte{}
	for i := range seed {
		seed[i] = byte(rand.Uint32())
	}
	rand.NewChaCha8(seed).Read(p)
	return p
}

// Downloads are heavy reads: an account has a limited number at once.
func TestDownloadsAreBounded(t *testing.T) {
	started, release := make(chan struct{}, 10), make(chan struct{})
	a := shelf(func(ctx context.Context, _ query.Artifact, _ int64) (io.ReadCloser, error) {
		started <- struct{}{}
		<-release
		return io.NopCloser(strings.NewReader("x")), nil
	})
	w := newFilesWorldOn(t, nil, func(s *settings) { s.archives, s.throttle.HeavyAtOnce = []query.Archive{a}, 2 })
	w.add(document{query.Exports, orderA, 11, "2026-03-01T05:00:00Z", []file{{name: "f", filename: "f.csv", content: []byte("x")}}})
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			resp, err := w.raw().Do(w.request("GET", only("f"), w.token(reader), nil))
			if err != nil || resp.StatusCode != 200 {
				t.Error(resp, err)
				return
			}
			resp.Body.Close()
		})
		<-started
	}
	refused := w.get(only("f"), w.token(reader))
	refused.wantProblem(t, 429, "RATE_LIMIT_EXCEEDED")
	if refused.Header.Get("Retry-After") != "1" { // choices 34
		t.Error(refused.Header)
	}
	close(release)
	running.Wait()
}

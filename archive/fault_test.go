package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"preismon/archive"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
)

// A download that is cut anywhere ends with an error, never with io.EOF.
func TestCutDownload(t *testing.T) {
	t.Parallel()
	cfg := s3Config(t)
	const size = 2 * mib
	content := noise(size)
	ref := archive.RefOf(newKey(), content)
	put(t, openS3(t, cfg), ref, content)

	whole := answerSize(t, cfg, ref)
	for _, reset := range []bool{false, true} {
		for _, at := range []int64{0, 200, whole - size, whole - size + 1, mib, whole - 2, whole - 1} {
			t.Run(fmt.Sprintf("at %d of %d, reset %t", at, whole, reset), func(t *testing.T) {
				t.Parallel()
				s := openS3(t, cutting(t, cfg, proxy.Down, at, reset))
				n, err := readAll(t.Context(), s, ref)
				wantErr(t, err, fault.Unavailable, nil)
				if n >= size {
					t.Errorf("%d bytes were handed out", n)
				}
				n, err = readRange(t.Context(), s, ref, archive.Range{Length: size})
				wantErr(t, err, fault.Unavailable, nil)
				if n >= size {
					t.Errorf("%d bytes of a range were handed out", n)
				}
			})
		}
	}
}

// A download ends with an error if the server or the connection goes silent in
// the middle.
func TestStalledDownload(t *testing.T) {
	t.Parallel()
	cfg := s3Config(t)
	content := noise(2 * mib)
	ref := archive.RefOf(newKey(), content)
	put(t, openS3(t, cfg), ref, content)

	line, cfg := through(t, cfg)
	line.Set(proxy.Down, proxy.Rule{Left: mib, Each: true, Then: proxy.Hold})
	cfg.StallTimeout = 200 * time.Millisecond
	_, err := readAll(t.Context(), openS3(t, cfg), ref)
	wantErr(t, err, fault.Unavailable, nil)

	cfg.StallTimeout = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = readAll(ctx, openS3(t, cfg), ref)
	wantErr(t, err, fault.Timeout, context.DeadlineExceeded)
}

// A slow reader is not a stall.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	cfg := s3Config(t)
	content := noise(32 * mib) // more than the buffers on the way
	ref := archive.RefOf(newKey(), content)
	put(t, openS3(t, cfg), ref, content)
	cfg.StallTimeout = time.Second
	o := must.Get(openS3(t, cfg).Open(t.Context(), ref))(t)
	defer o.Close()
	got := make([]byte, len(content))
	for part := got; len(part) > 0; part = part[len(got)/2:] {
		time.Sleep(cfg.StallTimeout * 5 / 4) // real time: the far side is a real server
		must.Get(io.ReadFull(o, part[:len(got)/2]))(t)
	}
	if !bytes.Equal(got, content) {
		t.Error("other content came back")
	}
}

func TestCutUpload(t *testing.T) {
	t.Parallel()
	cfg := s3Config(t)
	for _, size := range []int{mib, 12 * mib} {
		for _, at := range []int64{0, 300, mib / 2} {
			content := noise(size)
			ref := archive.RefOf(newKey(), content)
			spoiled := openS3(t, cutting(t, cfg, proxy.Up, at, at%2 == 0))
			wantErr(t, spoiled.Put(t.Context(), ref, bytes.NewReader(content)), fault.Unavailable, nil)
			_, err := openS3(t, cfg).Stat(t.Context(), ref.Key)
			wantErr(t, err, fault.NotFound, nil)
			put(t, openS3(t, cfg), ref, content)
		}
	}
}

// A request succeeds if the server carried it out but its answer did not
// arrive.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		size          int
		method, query string
	}{
		"one request":   {1000, "PUT", ""},
		"a part":        {6 * mib, "PUT", ""},
		"begin upload":  {6 * mib, "POST", "?uploads="},
		"finish upload": {6 * mib, "POST", "?uploadId="},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := s3Config(t)
			content := noise(test.size)
			ref := archive.RefOf(newKey(), content)
			line, spoiled := through(t, cfg)
			var lost atomic.Bool
			line.Set(proxy.Up, proxy.Rule{
				Pattern: []byte(test.method + " /" + cfg.Bucket + "/" + ref.Key.String() + test.query), Left: -1,
				Answer: &proxy.Rule{Then: proxy.End, Act: func() { lost.Store(true) }},
			})
			put(t, openS3(t, spoiled), ref, content)
			if got := read(t, openS3(t, cfg), ref); !bytes.Equal(got, content) {
				t.Error("other content came back")
			}
			if !lost.Load() {
				t.Error("no answer was lost")
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	listener.Close()
	cfg := archive.DefaultS3Config()
	cfg.Endpoint, cfg.Bucket, cfg.AccessKey, cfg.SecretKey = "http://"+listener.Addr().String(), "artifacts", "us", "hush"
	s := openS3(t, cfg)
	content := []byte("x")
	ref := archive.RefOf(newKey(), content)
	_, err := s.Open(t.Context(), ref)
	wantErr(t, err, fault.Unavailable, nil)
	_, err = s.Stat(t.Context(), ref.Key)
	wantErr(t, err, fault.Unavailable, nil)
	wantErr(t, s.Put(t.Context(), ref, bytes.NewReader(content)), fault.Unavailable, nil)
	wantErr(t, s.Check(t.Context()), fault.Unavailable, nil)
	wantErr(t, s.EnsureBucket(t.Context()), fault.Unavailable, nil)
}

// Readers that are closed in the middle leave no goroutine behind.
func TestAbandonedReaders(t *testing.T) {
	cfg := s3Config(t)
	s := openS3(t, cfg)
	content := noise(4 * mib)
	ref := archive.RefOf(newKey(), content)
	put(t, s, ref, content)
	s.Close()
	before := runtime.NumGoroutine()
	for range 50 {
		o := must.Get(s.Open(t.Context(), ref))(t)
		must.Get(o.Read(make([]byte, 10)))(t)
		must.Do(t, o.Close())
	}
	s.Close()
	for wait := 0; runtime.NumGoroutine() > before+2; wait++ {
		if wait == 100 {
			t.Fatalf("%d goroutines, were %d", runtime.NumGoroutine(), before)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// through returns a line to the server, and the configuration that uses it.
func through(tb testing.TB, cfg archive.S3Config) (line *proxy.Proxy, spoiled archive.S3Config) {
	tb.Helper()
	line, cfg.Endpoint = proxy.Before(tb, cfg.Endpoint)
	return line, cfg
}

// cutting returns a configuration whose connections are cut after so many bytes
// in one direction.
func cutting(tb testing.TB, cfg archive.S3Config, d proxy.Direction, at int64, reset bool) archive.S3Config {
	tb.Helper()
	line, cfg := through(tb, cfg)
	line.Set(d, proxy.Rule{Left: at, Each: true, Then: map[bool]proxy.Verdict{false: proxy.End, true: proxy.Break}[reset]})
	return cfg
}

func readAll(ctx context.Context, s archive.Store, ref archive.Ref) (int64, error) {
	o, err := s.Open(ctx, ref)
	if err != nil {
		return 0, err
	}
	defer o.Close()
	return io.Copy(io.Discard, o)
}

func readRange(ctx context.Context, s archive.Store, ref archive.Ref, part archive.Range) (int64, error) {
	o, err := s.OpenRange(ctx, ref, part)
	if err != nil {
		return 0, err
	}
	defer o.Close()
	return io.Copy(io.Discard, o)
}

// answerSize returns the size of the answer on the wire in bytes, header
// included.
func answerSize(tb testing.TB, cfg archive.S3Config, ref archive.Ref) int64 {
	low, high := ref.Size, ref.Size+64<<10
	for low+1 < high { // the smallest cut that does no harm
		mid := (low + high) / 2
		if _, err := readAll(context.Background(), openS3(tb, cutting(tb, cfg, proxy.Down, mid, false)), ref); err == nil {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

package ingest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/zstd"

	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

func ndjson(t testing.TB, events ...*event.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range events {
		line := must.Get(event.Encode(e))(t)
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func packed(t testing.TB, how string, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	switch how {
	case "gz":
		w := gzip.NewWriter(&b)
		w.Write(plain)
		w.Close()
	case "zst":
		w := must.Get(zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1)))(t)
		w.Write(plain)
		w.Close()
	default:
		return plain
	}
	return b.Bytes()
}

func TestLines(t *testing.T) {
	t.Parallel()
	plain := append([]byte("\xef\xbb\xbf"), ndjson(t, observations(1, 2), item(2, 1))...)
	plain = append(plain, "\r\n  \nnot json\n"...)
	plain = append(plain, strings.Repeat("x", event.MaxBytes+500)...)
	plain = append(plain, '\n')
	plain = append(plain, bytes.TrimRight(ndjson(t, item(3, 1)), "\n")...)
	type line struct {
		Number int
		ID     string
		Err    string
	}
	want := []line{
		{1, eventID(1, 1), ""}, {2, eventID(2, 2001), ""}, {5, "", "not"}, {6, "", "more than"}, {7, eventID(2, 3001), ""},
	}
	for _, how := range []string{"plain", "gz", "zst"} {
		var got []line
		for l, err := range ingest.Lines(bytes.NewReader(packed(t, how, plain))) {
			must.Do(t, err)
			one := line{Number: l.Number}
			if l.Err != nil {
				one.Err = l.Err.Error()
			} else {
				one.ID = l.Event.ID
			}
			got = append(got, one)
		}
		short := cmpopts.AcyclicTransformer("short", func(l line) line {
			for _, w := range []string{"more than", "not"} {
				if strings.Contains(l.Err, w) {
					l.Err = w
				}
			}
			return l
		})
		if d := cmp.Diff(want, got, short); d != "" {
			t.Error(how + " (-want +got):\n" + d)
		}
	}
	// A file that breaks off is an error, after what could be read.
	for _, how := range []string{"gz", "zst"} {
		b := packed(t, how, plain)
		var err error
		for _, err = range ingest.Lines(bytes.NewReader(b[:len(b)-6])) {
			_ = err
		}
		if err == nil {
			t.Errorf("%s: broke off without an error", how)
		}
	}
	for range ingest.Lines(strings.NewReader("")) {
		t.Error("a line of nothing")
	}
}

func TestPublishFiles(t *testing.T) {
	t.Parallel()
	nc, js := connect(t)
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		name = filepath.Join(dir, name)
		must.Do(t, os.WriteFile(name, b, 0o600))
		return name
	}
	var obs []*event.Event
	for i := range 300 {
		obs = append(obs, observations(i, 2))
	}
	bad := ndjson(t, item(1, 1))
	bad = append(bad, "{\"version\":1}\n"...)
	bad = append(bad, strings.Replace(string(ndjson(t, observations(900, 1))), `"EUR"`, `"EURO"`, 1)...)
	files := []string{
		write("a.ndjson", ndjson(t, obs[:100]...)), write("b.ndjson.gz", packed(t, "gz", ndjson(t, obs[100:200]...))),
		write("c.zst", packed(t, "zst", ndjson(t, obs[200:]...))), write("bad.ndjson", bad),
	}
	var rejects bytes.Buffer
	var last uint64
	request := func() ingest.FilesRequest {
		rejects.Reset()
		return ingest.FilesRequest{
			Publisher: newPublisher(t, nc, ingest.PublisherConfig{}), Files: files, Rejects: &rejects,
			Progress: func(lines uint64) { last = lines },
		}
	}

	// Interrupted in the middle ...
	ctx, cancel := context.WithCancel(t.Context())
	first := request()
	first.Publisher = newPublisher(t, nc, ingest.PublisherConfig{MaxInFlight: 1})
	first.ProgressEvery = 1
	first.Progress = func(uint64) {
		if first.Publisher.Stats().Accepted > 20 {
			cancel()
		}
	}
	got, err := ingest.PublishFiles(ctx, first)
	if err == nil || got.Accepted == 0 || got.Accepted >= 301 {
		t.Fatalf("interrupted: %+v, %v", got, err)
	}
	must.Eventually(t, time.Minute, "the last of it landed", func() bool { return first.Publisher.Stats().InFlight == 0 })
	accepted := first.Publisher.Stats().Accepted

	// ... or among lines that are all rejected ...
	refused := request()
	refused.Files = []string{write("refused.ndjson", bytes.Repeat([]byte("{}\n"), 10))}
	if got, err := ingest.PublishFiles(ctx, refused); !errors.Is(err, context.Canceled) || got.Rejected != 0 {
		t.Errorf("interrupted among rejected lines: %+v, %v", got, err)
	}

	// ... and run again.
	got, err = ingest.PublishFiles(t.Context(), request())
	want := ingest.FilesResult{Accepted: 301 - accepted, Duplicates: accepted, Rejected: 2}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if last != 303 {
		t.Errorf("last progress: %d lines", last)
	}
	if end, _ := ingest.End(t.Context(), js, event.StreamObservations); end != 300 {
		t.Errorf("the stream has %d", end)
	}
	var lines []int
	for d := json.NewDecoder(&rejects); d.More(); {
		var r ingest.Reject
		must.Do(t, d.Decode(&r))
		lines = append(lines, r.Line)
		if r.File != files[3] || r.Reason == "" || !bytes.Contains(bad, []byte(r.Text)) {
			t.Errorf("%+v", r)
		}
	}
	equals.Check(t, []int{2, 3}, lines)

	// From standard input.
	in := request()
	in.Files, in.Stdin = nil, bytes.NewReader(packed(t, "zst", ndjson(t, obs[0], observations(5000, 1))))
	if got, err := ingest.PublishFiles(t.Context(), in); err != nil || got != (ingest.FilesResult{Accepted: 1, Duplicates: 1}) {
		t.Errorf("%+v, %v", got, err)
	}

	missing := request()
	missing.Files = []string{files[0], filepath.Join(dir, "none")}
	if got, err := ingest.PublishFiles(t.Context(), missing); err == nil || got.Duplicates != 100 {
		t.Errorf("missing file: %+v, %v", got, err)
	}
}

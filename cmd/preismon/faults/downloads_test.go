package faults_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"testing"
	"time"

	"preismon/archive"
	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
)

// file is an archived export of the first mandate, in a real MinIO behind a
// proxy.
type file struct {
	content []byte
	ref     archive.Ref
	at      time.Time
	place   string // the value of --archive
	server  string // host and port
}

const fileName = "daily prices"

// putFile stores a file and returns the records that name it.
func putFile(t testing.TB, p *proxy.Proxy, seed uint64) (*file, []*event.Event) {
	t.Helper()
	server := testserver.S3(t)
	p.To(server.Endpoint)
	rnd := rand.New(rand.NewPCG(seed, 11))
	f := &file{server: server.Endpoint, content: make([]byte, 2<<20), at: time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)}
	for i := range f.content {
		f.content[i] = byte(rnd.Uint32())
	}
	f.place = "s3://" + server.AccessKey + ":" + server.SecretKey + "@" + p.Address() + "/" + server.Bucket + "?tls=false"
	cfg := archive.DefaultS3Config()
	cfg.Endpoint, cfg.Bucket, cfg.CreateBucket = "http://"+server.Endpoint, server.Bucket, true
	cfg.AccessKey, cfg.SecretKey = server.AccessKey, contracts.Secret(server.SecretKey)
	bucket, err := archive.NewS3(cfg)
	if err == nil {
		err = bucket.EnsureBucket(t.Context())
	}
	f.ref = archive.RefOf(archive.Key{Folder: archive.Exports, Mandate: 1, Order: 1, Archive: 1}, f.content)
	if err == nil {
		err = bucket.Put(t.Context(), f.ref, bytes.NewReader(f.content))
	}
	must.Do(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return f, []*event.Event{
		record(rnd, event.KindExport, &contracts.FileJob{FileJobID: 1, MandateID: 1, OrderID: 1, Name: fileName, CreatedAt: f.at.Add(-time.Hour)}),
		record(rnd, event.KindExportArchive, &contracts.FileArchive{
			ArchiveID: 1, FileJobID: 1, MandateID: 1, OrderID: 1, ArchivedAt: f.at,
			Files: []contracts.ArchivedFile{{Name: fileName, Filename: "prices.bin", SizeBytes: f.ref.Size, SHA256: f.ref.SHA256}},
		}),
	}
}

// download fetches the file, either complete or visibly broken. While its order
// is granted more, it contains what its mandate does not see yet: then the
// content may be refused.
func (r *reader) download(ctx context.Context) error {
	at, asked := r.file.at.Format(time.RFC3339Nano), time.Now()
	resp, err := r.ask(ctx, "/v1/orders/1/exports/history/download", url.Values{"name": {fileName}, "dateFrom": {at}, "dateTo": {at}})
	if err != nil {
		if errors.Is(err, errForbidden) && r.grants.within(asked) {
			return fmt.Errorf("%w: the order holds more than is seen", errRefused)
		}
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	if resp.StatusCode != http.StatusOK || !bytes.Equal(got, r.file.content) {
		return wrong("I5", "a download of %d bytes that ended well, of a file of %d", len(got), len(r.file.content))
	}
	r.whole.Add(1)
	return nil
}

// archiveFaults are those of the object store.
var archiveFaults = []fault{
	{name: "archive-cut", core: true, do: func(w *world, rnd *rand.Rand) error {
		for range 3 {
			if err := w.breaks(proxy.Rule{Left: rnd.Int64N(int64(len(w.file.content))), Then: proxy.Break}); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "archive-stalled", do: func(w *world, rnd *rand.Rand) error {
		defer w.archive.Reset()
		return w.breaks(proxy.Rule{Left: rnd.Int64N(int64(len(w.file.content))), Then: proxy.Hold})
	}},
	{name: "archive-gone", do: func(w *world, rnd *rand.Rand) error {
		w.archive.To("127.0.0.1:1")
		defer w.archive.To(w.file.server)
		w.archive.Reset()
		for range 3 {
			if err := w.readers[0].download(context.Background()); !errors.Is(err, errRefused) {
				return fmt.Errorf("a download without an archive: %w", err)
			}
		}
		return nil
	}},
}

// breaks downloads until the rule has been triggered.
func (w *world) breaks(r proxy.Rule) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			err := w.readers[0].download(ctx)
			var f *finding
			if errors.As(err, &f) && ctx.Err() == nil {
				w.finding(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return w.meets(w.archive, proxy.Down, r)
}

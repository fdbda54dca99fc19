package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"preismon/archive"
	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/query"
	"preismon/query/mcp"
)

// onMinIO keeps files in a bucket of a real MinIO.
func onMinIO(t testing.TB) func(*agentSettings) {
	t.Helper()
	server := testserver.S3(t)
	cfg := archive.DefaultS3Config()
	cfg.Endpoint, cfg.Bucket, cfg.CreateBucket = "http://"+server.Endpoint, server.Bucket, true
	cfg.AccessKey, cfg.SecretKey = server.AccessKey, contracts.Secret(server.SecretKey)
	bucket, err := archive.NewS3(cfg)
	must(t, err)
	must(t, bucket.EnsureBucket(t.Context()))
	return func(s *agentSettings) { s.bucket = bucket }
}

func refOf(a query.Artifact) archive.Ref {
	folder := map[query.Direction]archive.Folder{query.Exports: archive.Exports, query.Imports: archive.Imports}[a.Direction]
	return archive.Ref{
		Key:  archive.Key{Folder: folder, Mandate: a.Mandate, Order: a.OrderID, Archive: a.Archive, File: a.File},
		Size: a.SizeBytes, SHA256: a.SHA256,
	}
}

func (s *shelf) putS3(t testing.TB, a query.Artifact, content []byte) {
	t.Helper()
	must(t, s.bucket.Put(t.Context(), refOf(a), bytes.NewReader(content)))
}

func (s *shelf) openS3(ctx context.Context, a query.Artifact) (io.ReadCloser, error) {
	content, err := s.bucket.Open(ctx, refOf(a))
	if err != nil {
		return nil, err
	}
	s.opened.Add(1)
	return struct {
		io.Reader
		io.Closer
	}{&counted{content, s}, content}, nil
}

// LIM-D1 to LIM-D4 at the edge of the published 64 MiB, with files in MinIO:
// the largest file whose Base64 fits twice comes as it is, one byte more is
// refused before anything of it is read, and a batch shares what there is.
func TestTheDownloadBudgetInMinIO(t *testing.T) {
	a := newAgents(t, newMarket(), onMinIO(t))
	agent := a.agent(whole)
	binary := func(n int64) []byte { return bytes.Repeat([]byte{0xff, 0xfe, 0x00}, int(n)/3+1)[:n] }
	for d, tool := range downloadTools {
		a.archive.read.Store(0)
		a.archive.opened.Store(0)
		a.put(d, 5, "huge", "huge.bin", binary(64<<20))
		p := agent.call(tool, object{"orderId": 5, "name": "huge"}).failed("PAYLOAD_TOO_LARGE")
		most := *p.MaxBytes
		if *p.ActualBytes != 64<<20 || most < 25_000_000 || mcp.DownloadCost(most) > 64<<20 || a.archive.opened.Load() != 0 {
			t.Fatalf("most %d, actual %d, opened %d", most, *p.ActualBytes, a.archive.opened.Load())
		}
		a.put(d, 5, "fits", "fits.bin", binary(most))
		a.put(d, 5, "over", "over.bin", binary(most+1))
		got := agent.call(tool, object{"orderId": 5, "name": "fits", "whole": true}).ok()
		if got["sizeBytes"] != float64(most) || !bytes.Equal(content(t, got), binary(most)) {
			t.Errorf("%s: not the bytes of the file", tool)
		}
		if read := a.archive.read.Load(); read != most {
			t.Errorf("read %d bytes of %d", read, most)
		}
		p = agent.call(tool, object{"orderId": 5, "name": "over"}).failed("PAYLOAD_TOO_LARGE")
		if *p.ActualBytes != most+1 || *p.MaxBytes != most || a.archive.read.Load() != most {
			t.Errorf("one byte more: %d of %d, read %d", *p.ActualBytes, *p.MaxBytes, a.archive.read.Load())
		}

		a.put(d, 5, "half", "half.bin", binary(most*6/10))
		get := func(id int) object {
			return object{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": object{"name": tool, "arguments": object{"orderId": 5, "name": "half", "whole": true}}}
		}
		answer := a.legacy(whole).post([]any{get(1), get(2)}, http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}})
		var replies []struct{ Result result }
		must(t, json.Unmarshal([]byte(answer.body), &replies))
		for i := range replies {
			replies[i].Result.t = t
		}
		if answer.status != http.StatusOK || len(answer.body) > 64<<20 || len(content(t, replies[0].Result.ok())) != int(most*6/10) {
			t.Errorf("the batch: %d, %d bytes", answer.status, len(answer.body))
		}
		p = replies[1].Result.failed("PAYLOAD_TOO_LARGE")
		if *p.ActualBytes != most*6/10 || *p.MaxBytes >= most*6/10 || *p.MaxBytes < most*3/10 {
			t.Errorf("the second of the batch: %d of %d", *p.ActualBytes, *p.MaxBytes)
		}
	}
}

package rest_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/equals"
	"preismon/query"
	"preismon/query/rest"
)

// fewest records the largest number of records requested from a store.
type fewest struct {
	*memory
	most atomic.Int64
}

func (f *fewest) note(limit int) { f.most.Store(max(f.most.Load(), int64(limit))) }

func (f *fewest) Sites(ctx context.Context, v query.Visibility, q query.SitesQuery) ([]contracts.Site, error) {
	f.note(q.Limit)
	return f.memory.Sites(ctx, v, q)
}

func (f *fewest) Items(ctx context.Context, v query.Visibility, after contracts.ItemID, limit int) ([]contracts.Item, error) {
	f.note(limit)
	return f.memory.Items(ctx, v, after, limit)
}

func (f *fewest) Orders(ctx context.Context, v query.Visibility, q query.OrdersQuery) ([]contracts.Order, error) {
	f.note(q.Limit)
	return f.memory.Orders(ctx, v, q)
}

func (f *fewest) FileEntries(ctx context.Context, v query.Visibility, q query.FileEntriesQuery) ([]query.FileEntry, error) {
	f.note(q.Limit)
	return f.memory.FileEntries(ctx, v, q)
}

func (f *fewest) Results(ctx context.Context, v query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) error {
	f.note(q.Limit)
	return f.memory.Results(ctx, v, q, each)
}

// unread is an archive whose files may be opened and must not be read.
type unread struct{ memoryArchive }

func (u unread) Open(ctx context.Context, a query.Artifact, offset int64) (io.ReadCloser, error) {
	content, err := u.memoryArchive.Open(ctx, a, offset)
	if err != nil {
		return nil, err
	}
	content.Close()
	return io.NopCloser(failing{errBroken}), nil
}

// Choices 64: HEAD works wherever GET does, except on the stream, with the
// headers of GET and without its body. A list is not read for it, so its length
// is unknown.
func TestHeadIsGetWithoutItsBody(t *testing.T) {
	spy := &fewest{memory: newMemory()}
	set := func(archive query.Archive) func(*settings) {
		return func(s *settings) {
			s.store, s.archives, s.throttle.Reads.Requests = spy, []query.Archive{archive}, 1_000_000
		}
	}
	s, unreadable := serve(t, set(memoryArchive{})), serve(t, set(unread{}))
	s.clock.frozen = time.Now()
	ask := func(s *surface, method, path string, header ...string) answer {
		r := s.request(method, path, s.token(reader), nil)
		r.Header.Set("Accept-Encoding", "identity") // the client requests gzip by itself, but not with HEAD
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return s.do(r)
	}
	same := func(path string, list bool, header ...string) {
		t.Helper()
		spy.most.Store(0)
		head := ask(s, "HEAD", path, header...)
		most := spy.most.Load()
		get := ask(s, "GET", path, header...)
		if head.StatusCode != get.StatusCode || len(head.body) != 0 {
			t.Errorf("HEAD %s: %d with %d bytes, GET %d", path, head.StatusCode, len(head.body), get.StatusCode)
		}
		want, got := alike(get.Header), alike(head.Header)
		if list && get.StatusCode == 200 {
			if most > 3 {
				t.Errorf("HEAD %s reads %d records", path, most)
			}
			for _, name := range []string{"X-Results-Returned", "X-Results-Next-Cursor", "Link", "X-Changes-Token", "X-Changes-As-Of", "X-Changes-Up-To-Date"} {
				want.Del(name)
			}
		}
		if list && get.StatusCode == 200 || slices.Contains(header, "gzip") && !strings.Contains(path, "download") { // the compressed body has another length, and is not produced
			want.Del("Content-Length")
			want.Del("Content-Encoding")
		}
		equals.Checkf(t, want, got, "HEAD %s", path)
	}
	for _, route := range rest.Routes() {
		method, path, _ := strings.Cut(route, " ")
		if method != "GET" || path == "/v1/results/stream" || path == "/problems/{code}" {
			continue
		}
		list := strings.HasPrefix(strings.TrimPrefix(path, "/ext"), "/v1/") && openapitest.Path(path).Get.Parameters.GetByInAndName("query", "limit") != nil
		path = strings.ReplaceAll(path, "{orderId}", "5")
		if strings.HasSuffix(path, "download") {
			path += "?name=held"
		}
		same(path, list)
		same(path, list, "Accept-Encoding", "gzip")
		and := map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
		same(path+and+"limit=5", list)
		same(path+and+"limit=0", list)
		same(path+and+"limit=10001", list)
		same(path+and+"cursor=x", list)
		same(path+and+"unknown=x", list)
		same(strings.ReplaceAll(path, "/5/", "/7/"), list)
		same(path, list, "Authorization", "Bearer x")
	}
	same("/problems/not-found", false)
	for _, accept := range []string{"text/csv", "application/x-ndjson", "application/vnd.apache.parquet"} {
		same("/v1/results?itemId=11", true, "Accept", accept)
		same(feedAt+"?itemId=11", true, "Accept", accept)
		same(alertsAt+"?rule=OUT_OF_STOCK", true, "Accept", accept)
		same("/ext/v1/explain?path=/v1/results", false, "Accept", accept)
	}
	const download = "/v1/orders/5/exports/history/download"
	same(download+"?name=lost", false)
	same(download+"?latest=true", false)
	same(download+"?name=held", false, "If-None-Match", "*")
	same(download+"?name=held", false, "If-Match", `"other"`)
	whole := ask(s, "GET", download+"?name=held")
	head := ask(unreadable, "HEAD", download+"?name=held", "Range", "bytes=0-1") // ranges apply only to GET
	if diff := cmp.Diff(alike(whole.Header), alike(head.Header)); head.StatusCode != http.StatusOK || diff != "" {
		t.Errorf("%d %s", head.StatusCode, diff)
	}
	stream := ask(s, "HEAD", "/v1/results/stream")
	if stream.StatusCode != 405 || stream.Header.Get("Allow") != "GET" {
		t.Errorf("HEAD of the stream: %d, Allow %q", stream.StatusCode, stream.Header.Get("Allow"))
	}
	if log := s.log.String(); !strings.Contains(log, `"method":"HEAD","route":"/v1/sites","status":200`) {
		t.Error("the log does not show HEAD")
	}
}

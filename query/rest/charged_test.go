package rest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/query"
)

// weighed is an archive that looks at what is charged while its content is
// read.
type weighed struct {
	memoryArchive
	weigh func()
}

func (w weighed) Open(ctx context.Context, a query.Artifact, offset int64) (io.ReadCloser, error) {
	w.weigh()
	return w.memoryArchive.Open(ctx, a, offset)
}

// Lists, single records and downloads are charged to the node's one budget
// while they are read, and release what they held.
func TestEveryReadIsCharged(t *testing.T) {
	t.Parallel()
	var s *surface
	var mu sync.Mutex
	held, standing := int64(0), int64(0)
	weigh := func() {
		now := s.service.Admission().Stats()
		mu.Lock()
		defer mu.Unlock()
		held, standing = max(held, now.Held), max(standing, now.Standing)
	}
	s = serve(t, func(set *settings) { set.archives = []query.Archive{weighed{weigh: weigh}} })
	from, captured := s.store.rows[0].captured.Add(-time.Hour).Format(time.RFC3339Nano), s.store.rows[0].captured.Format(time.RFC3339Nano)
	for path, of := range map[string]struct {
		method string
		least  int64
	}{
		"/v1/sites":                                       {"Sites", 100 << 10},
		"/v1/sites?limit=1000":                            {"Sites", 1 << 20},
		"/v1/items?limit=1000":                            {"Items", 1 << 20},
		"/v1/items?ean=4006381333931":                     {"ItemCandidates", 64 << 10},
		"/v1/orders?limit=1000":                           {"Orders", 1 << 20},
		"/v1/orders/5":                                    {"Orders", 64 << 10},
		"/v1/orders/5/observation-quality":                {"OrderPairs", 64 << 10},
		"/v1/orders/5/exports":                            {"FileJobs", 64 << 10},
		"/v1/orders/5/exports/history":                    {"FileEntries", 64 << 10},
		"/v1/orders/5/exports/history/download?name=held": {"", 1},

		"/ext/v1/statistics?itemId=11&capturedFrom=" + from:                                                    {"Statistics", 256 << 10},
		"/ext/v1/position?itemId=11":                                                                           {"Results", 256 << 10},
		"/ext/v1/movers?itemId=11&since=" + from:                                                               {"Results", 256 << 10},
		"/ext/v1/windows?site=shop-one&capturedFrom=2026-01-01":                                                {"Windows", 256<<10 + 200*500},
		"/ext/v1/changes?since=" + s.fed("/ext/v1/changes?site=shop-one"):                                      {"Feed", 256 << 10},
		"/ext/v1/changes?limit=10000&since=" + s.fed("/ext/v1/changes?site=shop-one&includeExportFields=true"): {"Feed", 256<<10 + 10_000*1_200}, // as of results
		"/ext/v1/alerts?since=" + s.fed("/ext/v1/alerts?rule=OUT_OF_STOCK&site=shop-one"):                      {"Feed", 256 << 10},
		"/ext/v1/evidence?itemId=11&site=market-de&capturedAt=" + captured:                                     {"Results", 256 << 10},
		"/ext/v1/overview?site=shop-one":                                                                       {"Results", 256 << 10},
		"/ext/v1/items/11/summary":                                                                             {"Statistics", 256 << 10},
		"/ext/v1/sites/status":                                                                                 {"OrderPairs", 256 << 10},
		"/ext/v1/orders/status":                                                                                {"OrderPairs", 4 << 20},
		"/ext/v1/orders/status?orderId=5&files=100":                                                            {"NewestFiles", 2<<20 + 100_000},
	} {
		held, standing = 0, 0
		s.store.breakDown(func(method string) error {
			if method == of.method {
				weigh()
			}
			return nil
		})
		s.plain(path, s.token(reader)).is(t, 200)
		if got := held; got < of.least {
			t.Errorf("%s: %d bytes are charged while it is read, at least %d", path, got, of.least)
		}
		if strings.Contains(path, "download") && standing != int64(len(heldContent)) {
			t.Errorf("%s: %d bytes stand for a download of %d", path, standing, len(heldContent))
		}
	}
	held = 0
	s.store.breakDown(func(method string) error {
		if method == "Results" { // for the pairs that were found
			weigh()
		}
		return nil
	})
	if a := s.lookup(`{"eans":["4006381333931"]}`); a.StatusCode != http.StatusOK || held < 64<<10 {
		t.Errorf("a lookup: %d, %d bytes are charged while it is read", a.StatusCode, held)
	}
	if left := s.service.Admission().Stats(); left.Held != 0 || left.Reads != 0 {
		t.Errorf("not given back: %+v", left)
	}
}

// Positions are charged for the offers that they hold: how many there are is
// known only when they are read.
func TestOffersAreChargedAsTheyCome(t *testing.T) {
	t.Parallel()
	const offers, block = 20_000, 1_000
	s := serve(t)
	of := s.store.rows[0]
	s.store.rows, s.store.blockMax = nil, block
	for i := range offers {
		of.item, of.captured, of.price = s.store.items[i%2].ItemID, of.captured.Add(time.Millisecond), int64(1000+i)
		s.store.rows = append(s.store.rows, of)
	}
	var held int64
	s.store.each = func(n int) error {
		held = s.service.Admission().Stats().Held
		if n > 1 && held < int64((n-1)*block*256) {
			t.Errorf("%d bytes are charged for %d offers", held, n*block)
		}
		return nil
	}
	path := "/ext/v1/position?site=" + string(of.site)
	if a := s.plain(path+"&offers=all", s.token(reader)); a.StatusCode != http.StatusOK || held < offers*256 {
		t.Errorf("%d, %d bytes are charged: %.300s", a.StatusCode, held, a.body)
	}
	if left := s.service.Admission().Stats(); left.Held != 0 {
		t.Errorf("not given back: %+v", left)
	}
}

// fed begins a feed, lets a row arrive, and returns the token from before it.
func (s *surface) fed(path string) string {
	s.t.Helper()
	token := decode[changesPage](s.t, s.get(path, s.token(reader))).Progress.Token
	s.store.arrive(1)
	return token
}

// weighing looks at what is charged when an answer is sent.
type weighing struct {
	*httptest.ResponseRecorder
	weigh func()
}

func (w *weighing) Write(b []byte) (int, error) {
	w.weigh()
	return w.ResponseRecorder.Write(b)
}

// An answer of records is charged until its last byte is sent, in every form,
// so a client that does not read keeps the charge.
func TestRecordsAreChargedUntilTheyAreSent(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const windows, rows = "/ext/v1/windows?site=shop-one&capturedFrom=2026-01-01&bucket=day", "/v1/results?limit=50"
	for _, of := range [][2]string{
		{windows, "application/json"},
		{windows, "application/x-ndjson"},
		{windows, "text/csv"},
		{rows, "application/json"},
		{rows, "application/x-ndjson"},
		{rows, "text/csv"},
		{rows, "application/vnd.apache.arrow.stream"},
		{rows, "application/vnd.apache.parquet"},
	} {
		accept := of[1]
		r := httptest.NewRequest(http.MethodGet, of[0], nil)
		r.Header.Set("Authorization", "Bearer "+s.token(reader))
		r.Header.Set("Accept", accept)
		held := int64(0)
		w := &weighing{httptest.NewRecorder(), func() { held = max(held, s.service.Admission().Stats().Held) }}
		s.Config.Handler.ServeHTTP(w, r)
		if n := int64(w.Body.Len()); w.Code != http.StatusOK || n < 1_000 || held < n {
			t.Errorf("%s: status %d, %d bytes are charged when %d are sent", of, w.Code, held, n)
		}
	}
}

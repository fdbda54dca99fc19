package rest_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/table/tabletest"
)

// Access lets the node remember streams.
func (o odd) Access(ctx context.Context, account contracts.AccountID) (*query.Access, error) {
	a, err := o.memory.Access(ctx, account)
	if err == nil {
		a.Visibility.Snapshot, a.Visibility.Applied = 1, true
	}
	return a, err
}

// inCoding requests a table in a form and a coding, and returns it decoded, after
// its trailers.
func (s *surface) inCoding(path, media, coding string) answer {
	s.t.Helper()
	r := s.request(http.MethodGet, path, s.token(reader), nil)
	r.Header.Set("Accept", media)
	r.Header.Set("Accept-Encoding", coding)
	resp := must.Get(s.raw().Do(r))(s.t)
	defer resp.Body.Close()
	body := must.Get(io.ReadAll(decoded(s.t, resp)))(s.t)
	must.Get(io.Copy(io.Discard, resp.Body))(s.t)
	return answer{resp, body}
}

// spread distributes the rows over two days, up to an hour that is not over.
func (m *memory) spread() {
	for i := range m.rows {
		m.rows[i].captured = time.Now().UTC().Truncate(time.Millisecond).Add(time.Duration(i-len(m.rows)+2) * 54 * time.Minute)
	}
}

// past returns the path of a stream of the last hours, of which some are over,
// and the others are not.
func past(hours int, more string) string {
	now := time.Now().UTC()
	return "/v1/results/stream?globalScope=true&includeExportFields=true&includeIdentity=true&includeOrderIds=true&includeCustomerData=true&" +
		url.Values{"capturedFrom": {now.Add(-time.Duration(hours) * time.Hour).Format(time.RFC3339)}, "capturedTo": {now.Add(time.Hour).Format(time.RFC3339)}}.Encode() + more
}

// TestRememberedTables: a table that is put together of what the node remembers
// and of what it reads is the rows, in each form, coding, and order; also where
// sections were cut by a stream of another window, and some of them are gone.
func TestRememberedTables(t *testing.T) {
	s := serveOdd(t)
	s.store.blockMax = 5 // so that dictionaries are replaced
	s.store.spread()
	include := query.Include{ExportFields: true, Identity: true, OrderIDs: true, CustomerData: true}
	forms := append([]string{arrowMedia + ";compression=zstd", arrowMedia + ";dictionaries=replaced", arrowMedia + ";compression=lz4"}, tables...)
	for _, media := range forms {
		for n, coding := range codings[:effort.Often(2, 3)] {
			before := s.service.Stats()
			for round := range 10 {
				path := past([]int{50, 50, 50, 100, 160, 30}[round%6], []string{"&sort=asc", ""}[(round/6+n+len(media))%2])
				want := must.Get(tabletest.Lines(s.inCoding(path, ndjsonMedia, "identity").body))(t)
				a := s.inCoding(path, media, coding)
				if diff := cmp.Diff(want, a.reread(t, include.Fields(), time.UTC)); diff != "" {
					t.Fatalf("%s, %s, round %d (-want +got): %.3000s", media, coding, round, diff)
				}
				if a.Trailer.Get("X-Results-Complete") != "true" || a.Trailer.Get("X-Results-Returned") != strconv.Itoa(len(want)) || len(want) < 10 {
					t.Errorf("%s, %s, round %d: %d rows, %v", media, coding, round, len(want), a.Trailer)
				}
				if !strings.HasPrefix(media, a.Header.Get("Content-Type")[:8]) {
					t.Errorf("%s: %s", media, a.Header.Get("Content-Type"))
				}
			}
			now := s.service.Stats()
			if sent, again := now.StreamRows-before.StreamRows, now.Replayed-before.Replayed; again*5 < sent {
				t.Errorf("%s, %s: %d rows of %d were remembered", media, coding, again, sent)
			}
		}
	}
}

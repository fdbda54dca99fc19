package rest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"preismon/query"
)

// weighed is an archive that asks for what is charged while its content is read.
type weighed struct {
	memoryArchive
	weigh func()
}

func (w weighed) Open(ctx context.Context, a query.Artifact, offset int64) (io.ReadCloser, error) {
	w.weigh()
	return w.memoryArchive.Open(ctx, a, offset)
}

// Lists, single records and downloads are charged to the one budget of the node
// while they are read, and give back what they held.
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
	} {
		held, standing = 0, 0
		s.store.breakDown(func(method string) error {
			if method == of.method {
				weigh()
			}
			return nil
		})
		if a := s.plain(path, s.token(reader)); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %.300s", path, a.StatusCode, a.body)
		}
		if got := held; got < of.least {
			t.Errorf("%s: %d bytes are charged while it is read, at least %d", path, got, of.least)
		}
		if strings.Contains(path, "download") && standing != int64(len(heldContent)) {
			t.Errorf("%s: %d bytes stand for a download of %d", path, standing, len(heldContent))
		}
	}
	if left := s.service.Admission().Stats(); left.Held != 0 || left.Reads != 0 {
		t.Errorf("not given back: %+v", left)
	}
}

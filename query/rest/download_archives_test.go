package rest_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"preismon/contracts/fault"
	"preismon/query"
)

// shelf is an archive whose Open is the function.
type shelf func(ctx context.Context, a query.Artifact, offset int64) (io.ReadCloser, error)

func (s shelf) Open(ctx context.Context, a query.Artifact, offset int64) (io.ReadCloser, error) {
	return s(ctx, a, offset)
}

// A content is missing only if every archive reports it missing; an archive
// that is unreachable may hold it, and a damaged copy does not count while
// another archive has a good one (HIST-06).
func TestDownloadAsksSeveralArchives(t *testing.T) {
	content := []byte("the content")
	base := newFilesWorldOn(t, nil)
	base.add(document{query.Exports, orderA, 11, "2026-03-01T05:00:00Z", []file{{name: "f", filename: "f.csv", content: content}}})
	holds := shelf(func(context.Context, query.Artifact, int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	})
	fails := func(kind fault.Kind) shelf {
		return func(context.Context, query.Artifact, int64) (io.ReadCloser, error) {
			return nil, fault.Wrap(errBroken, kind, "secret cause")
		}
	}
	empty, away, damaged := fails(fault.NotFound), fails(fault.Unavailable), fails(fault.Internal)
	for name, c := range map[string]struct {
		archives []query.Archive
		status   int
		code     string
	}{
		"none":                     {nil, 409, "HISTORY_ARTIFACT_CONTENT_MISSING"},
		"empty ones":               {[]query.Archive{empty, empty}, 409, "HISTORY_ARTIFACT_CONTENT_MISSING"},
		"one away":                 {[]query.Archive{empty, away}, 503, "SERVICE_UNAVAILABLE"},
		"away, then empty":         {[]query.Archive{away, empty}, 503, "SERVICE_UNAVAILABLE"},
		"away, then there":         {[]query.Archive{away, holds}, 200, ""},
		"empty, away, there":       {[]query.Archive{empty, away, holds}, 200, ""},
		"damaged, then there":      {[]query.Archive{damaged, holds}, 200, ""},
		"damaged":                  {[]query.Archive{empty, damaged}, 500, "INTERNAL_ERROR"},
		"damaged, then one away":   {[]query.Archive{damaged, away}, 503, "SERVICE_UNAVAILABLE"},
		"there, and then all away": {[]query.Archive{holds, away, damaged}, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := base.of(t, func(s *settings) { s.archives = c.archives })
			a := w.get(only("f"), w.token(reader))
			if c.status == 200 {
				if a.StatusCode != 200 || !bytes.Equal(a.body, content) {
					t.Errorf("%d %s", a.StatusCode, a.body)
				}
				return
			}
			a.wantProblem(t, c.status, c.code)
			if strings.Contains(string(a.body), "secret") {
				t.Errorf("the cause shows: %s", a.body)
			}
			if (a.Header.Get("Retry-After") != "") != (c.status == 503) {
				t.Errorf("%v", a.Header)
			}
		})
	}
}

package rest_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// roll reports to all nodes which accounts are active.
type roll struct {
	accounts
	gone sync.Map
}

func (r *roll) Active(_ context.Context, all []contracts.AccountID) ([]contracts.AccountID, error) {
	return slices.DeleteFunc(slices.Clone(all), func(a contracts.AccountID) bool { _, gone := r.gone.Load(a); return gone }), nil
}

// A stream is cut off, in any form, when its token becomes invalid, and shows
// it; a stream with a valid token goes on. Choice 67.
func TestStreamsDoNotOutliveTheirToken(t *testing.T) {
	t.Parallel() // it mostly waits
	s := serve(t)
	s.store.allow(nowhere, contracts.Permissions()...)
	s.store.blockMax, s.store.rows = 1, slices.Repeat(s.store.rows, 10)
	s.store.each = func(int) error { time.Sleep(20 * time.Millisecond); return nil }
	open := func(token, media string) *http.Response {
		r := s.request("GET", "/v1/results/stream", token, nil)
		r.Header.Set("Accept", media)
		resp := must.Get(s.raw().Do(r))(t)
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	token, control := s.token(reader), open(s.token(nowhere), csvMedia)
	var ended []*http.Response
	for _, media := range []string{"application/x-ndjson", csvMedia, arrowMedia, parquetMedia} {
		ended = append(ended, open(token, media))
	}
	s.logout(token)
	for _, resp := range ended {
		if n, err := io.Copy(io.Discard, resp.Body); err == nil || resp.Trailer.Get("X-Results-Complete") != "" {
			t.Errorf("%s: %d bytes, %v, trailer %v", resp.Header.Get("Content-Type"), n, err, resp.Trailer)
		}
	}
	if _, err := io.ReadFull(control.Body, make([]byte, 8<<10)); err != nil {
		t.Errorf("the stream of another account: %v", err)
	}
	if log := s.log.String(); !strings.Contains(log, `"code":"AUTH_TOKEN_INVALID"`) || !strings.Contains(log, `"broken":true`) {
		t.Errorf("the access log does not tell of it: %s", log)
	}
}

// tokenEnds are how the token of reader ends at once.
var tokenEnds = map[string]func(s *surface, people *roll, token string){
	"logout":           func(s *surface, _ *roll, token string) { s.logout(token) },
	"disabled account": func(_ *surface, people *roll, _ string) { people.gone.Store(reader, true) },
}

// A page whose token became invalid while it was read is refused before its
// first byte, and so is one whose account was disabled meanwhile.
func TestPagesDoNotOutliveTheirToken(t *testing.T) {
	for name, end := range tokenEnds {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			people := &roll{}
			s := serve(t, func(set *settings) { set.people = people })
			reached, goOn := make(chan struct{}), make(chan struct{})
			s.store.breakDown(func(method string) error {
				if method == "Sites" {
					close(reached)
					<-goOn
				}
				return nil
			})
			token := s.token(reader)
			go func() {
				<-reached
				end(s, people, token)
				time.Sleep(time.Second)
				close(goOn)
			}()
			s.get("/v1/sites", token).wantProblem(t, 401, "AUTH_TOKEN_INVALID")
		})
	}
}

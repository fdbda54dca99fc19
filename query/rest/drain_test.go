package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/rest"
)

// TestDrain: running requests end as usual, new ones are told at once to go
// elsewhere.
func TestDrain(t *testing.T) {
	t.Parallel() // it mostly waits
	began, finish := make(chan struct{}), make(chan struct{})
	s := serve(t, func(set *settings) {
		set.unchecked = true // the contract knows no /slow
		set.mounted = []rest.Mounted{{Paths: []string{"/slow"}, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(began)
			<-finish
			_, _ = io.WriteString(w, "whole")
		})}}
	})
	slow := make(chan string, 1)
	go func() {
		resp, err := s.client.Get(s.URL + "/slow")
		if err != nil {
			slow <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		slow <- string(body)
		if err != nil {
			t.Error(err)
		}
	}()
	<-began
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.rest.Drain(short); !errors.Is(err, context.Canceled) {
		t.Errorf("drained with a request under way: %v", err)
	}
	drained := make(chan error, 1)
	go func() { drained <- s.rest.Drain(t.Context()) }()

	for path, limited := range map[string]bool{"/v1/sites": true, "/v1/results/stream": true, "/llms.txt": false} {
		resp := s.get(path, s.token(reader))
		var p struct{ Code string }
		must.Do(t, json.Unmarshal(resp.body, &p))
		h := resp.Header
		if resp.StatusCode != 503 || p.Code != "SERVICE_UNAVAILABLE" || h.Get("Retry-After") != "1" || !resp.Close || h.Get("X-Request-Id") == "" {
			t.Errorf("%s while draining: %d, code %q, Retry-After %q, close %v", path, resp.StatusCode, p.Code, h.Get("Retry-After"), resp.Close)
		}
		equals.Is(t, limited, h.Get("X-RateLimit-Limit") != "", "%s: rate limit headers", path)
	}
	if resp := s.get("/healthz", ""); resp.StatusCode != 200 {
		t.Errorf("healthz while draining: %d", resp.StatusCode)
	}
	select {
	case err := <-drained:
		t.Errorf("drained with a request under way: %v", err)
		drained <- err
	case got := <-slow:
		t.Errorf("the request under way got %q before it ended", got)
		slow <- got
	case <-time.After(50 * time.Millisecond):
	}
	close(finish)
	if got := <-slow; got != "whole" {
		t.Errorf("the request under way got %q", got)
	}
	must.Do(t, <-drained)
	must.Do(t, s.rest.Drain(t.Context()))
}

// TestDrainEndsWhatWaits: a request that waits for changes while the store
// cannot be read ends when the node stops.
func TestDrainEndsWhatWaits(t *testing.T) {
	t.Parallel() // it mostly waits
	s := serve(t)
	begun := s.changes("site=shop-one")
	tried := make(chan struct{}, 100)
	s.store.breakDown(func(method string) error { // the first read has nothing to read, and does not ask
		if method != "Feed" {
			return nil
		}
		tried <- struct{}{}
		return &fault.Error{Kind: fault.Unavailable, Msg: "away", Err: errBroken}
	})
	waited := make(chan int, 1)
	go func() {
		waited <- s.get(feedAt+"?wait=25s&since="+begun.Progress.Token, s.token(reader)).StatusCode
	}()
	select {
	case got := <-waited:
		t.Fatalf("it did not wait: %d", got)
	case <-time.After(300 * time.Millisecond):
	}
	s.store.arrive(1)
	for range 2 {
		select {
		case <-tried:
		case <-time.After(10 * time.Second):
			t.Fatal("it did not try again")
		}
	}
	began := time.Now()
	must.Do(t, s.rest.Drain(t.Context()))
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it drained after %v", took)
	}
	if got := <-waited; got != 503 {
		t.Errorf("the request that waited got %d", got)
	}
}

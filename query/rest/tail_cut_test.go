package rest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// A tail is cut off within two seconds of the end of its token or its account,
// without a last line; the tail of another account goes on.
func TestTailsDoNotOutliveTheirToken(t *testing.T) {
	for name, end := range tokenEnds {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			people := &roll{}
			s := serve(t, func(set *settings) { set.people = people })
			s.store.allow(nowhere, contracts.Permissions()...)
			token := s.token(reader)
			lines, broken := s.tailOf(t.Context(), feedAt, "site=shop-one", token)
			others, _ := s.tailOf(t.Context(), feedAt, "site=shop-one", s.token(nowhere))
			<-lines
			<-others
			ended := time.Now()
			end(s, people, token)
			for l := range lines {
				t.Errorf("%+v", l)
			}
			if took := time.Since(ended); took > 2*time.Second {
				t.Errorf("it was cut off after %v", took)
			}
			if <-broken == nil {
				t.Error("it ended properly")
			}
			s.store.arrive(1)
			if l := <-others; l.RowID == "" {
				t.Errorf("the tail of another account: %+v", l)
			}
		})
	}
}

// A client, or a proxy, that speaks HTTP/1.0 could not tell the end of a tail
// from a broken connection, so it is refused.
func TestTailNeedsHTTP11(t *testing.T) {
	s := serve(t)
	for version, status := range map[string]int{"1.0": 400, "1.1": 200} {
		conn := must.Get(net.Dial("tcp", s.Listener.Addr().String()))(t)
		defer conn.Close()
		must.Get(fmt.Fprintf(conn, "GET %s?follow=true HTTP/%s\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", feedAt, version, s.token(reader)))(t)
		resp := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
		if resp.StatusCode != status {
			t.Errorf("HTTP/%s: %d", version, resp.StatusCode)
		}
		if resp.StatusCode == http.StatusOK { // it goes on
			continue
		}
		body := must.Get(io.ReadAll(resp.Body))(t)
		answer{resp, body}.wantProblem(t, status, "MVP_VALIDATION_ERROR")
	}
}

// A tail behind a reverse proxy arrives line by line, in time and in plain text,
// also for a client that would take it compressed, and to its end.
func TestTailThroughAProxy(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 1_000 })
	node := must.Get(url.Parse(s.URL))(t)
	via := *s
	via.Server = httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(node) }})
	t.Cleanup(via.Close)
	via.client = &http.Client{Transport: &http.Transport{}} // it asks for gzip
	lines, broken := via.follow(t.Context(), "site=shop-one")
	next := func() controlLine {
		t.Helper()
		select {
		case l := <-lines:
			return l
		case <-time.After(10 * time.Second):
			t.Fatal("a line is held back")
			return controlLine{}
		}
	}
	token := next().Token
	for range 3 {
		s.store.arrive(1)
		if l := next(); l.RowID == "" {
			t.Fatalf("%+v", l)
		}
		said := next()
		if said.Control != "progress" || said.Token == token {
			t.Fatalf("%+v", said)
		}
		token = said.Token
	}
	go func() { _ = s.rest.Drain(t.Context()) }()
	if end, rows := last(t, lines, broken); end.Reason != "NODE_STOPS" || rows != 0 {
		t.Errorf("%d rows, then %+v", rows, end)
	}
}

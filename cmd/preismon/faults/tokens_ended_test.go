package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
	"preismon/deploy/testserver/proxy"
	"preismon/query/auth"
)

// endedFaults end a token while answers to it are running on two separate query
// nodes: streams, tails and downloads whose clients read nothing, and calls of
// agents that wait for an archive. All must be cut off within a second, visibly.
var endedFaults = []fault{
	{name: "token-logged-out", core: true, alone: true, do: func(w *world, _ *rand.Rand) error {
		return w.ended(time.Hour, func(e *ending) error {
			resp, err := e.send(e.nodes[0], http.MethodPost, "/v1/auth/logout")
			if err != nil {
				return err
			}
			return errors.Join(resp.Body.Close(), e.revoke(e.agent))
		})
	}},
	{name: "token-expired", alone: true, do: func(w *world, _ *rand.Rand) error {
		return w.ended(15*time.Second, func(*ending) error { return nil })
	}},
	{name: "account-disabled", core: true, alone: true, do: func(w *world, _ *rand.Rand) error {
		return w.ended(time.Hour, func(e *ending) error {
			e.account.Disabled = true
			return e.publish()
		})
	}},
	{name: "key-rotated", alone: true, do: func(w *world, _ *rand.Rand) error {
		return w.ended(time.Hour, func(e *ending) error { return rotate(e.key) })
	}},
}

// Half of the answers must be cut off within the promised second, and all
// within one more, because the machine is busy.
const (
	halfWithin   = time.Second
	brokenWithin = 2 * time.Second
)

// The answers under way on each node; a third of them are downloads.
const (
	answersOpen = 6
	streamsOpen = 2 * answersOpen * 2 / 3
)

// longAnswer is more than a connection buffers.
const longAnswer = 768 << 10

// ending is one account with answers under way on two nodes.
type ending struct {
	w           *world
	nodes       []*process.Role
	key         string // key file of both nodes
	account     *contracts.Account
	rest, agent string // its tokens
	client      *http.Client
}

var endings atomic.Uint64 // number of accounts so far

// ended opens answers, lets end invalidate their tokens, and checks what
// becomes of the answers.
func (w *world) ended(lifetime time.Duration, end func(*ending) error) error {
	if w.file == nil {
		return errors.New("there is no archive")
	}
	hash, err := cheapHash()
	if err != nil {
		return err
	}
	n := endings.Add(1)
	e := &ending{w: w, key: filepath.Join(w.dir, fmt.Sprintf("ended-%d.pem", n)), client: stingy()}
	e.account = &contracts.Account{
		AccountID: contracts.AccountID(1000 + n), MandateID: 1, LoginIdentifier: fmt.Sprintf("ended-%d@mandate-1.example", n), PasswordHash: hash,
		Permissions: contracts.Permissions(), Scope: contracts.AccountScope{AllOrders: true, AllSites: true},
	}
	if err := errors.Join(auth.EnsureKey(e.key), e.publish()); err != nil {
		return err
	}
	args := append(slices.Clone(w.query.Args), "--heavy-at-once", "100")
	args[slices.Index(args, "--token-key")+1] = e.key
	for range 2 {
		node := process.New(w.t, args...)
		node.Env, node.Asks = []string{"GOMAXPROCS=1"}, time.Second
		defer node.Kill()
		if err := node.Start(); err != nil {
			return err
		}
		e.nodes = append(e.nodes, node)
	}
	if err := e.issue(time.Hour); err != nil {
		return err
	}
	w.producer.burst.Store(200)
	var last error
	err = must.Until(healed, "the account has much to read on both nodes", func() bool {
		for _, node := range e.nodes {
			var size int
			if size, last = e.whole(node); last != nil || size < longAnswer {
				return false
			}
		}
		return true
	})
	w.producer.burst.Store(usual)
	if err != nil {
		return errors.Join(err, last)
	}
	if err := e.issue(lifetime); err != nil {
		return err
	}
	return e.run(end)
}

// run covers everything from the first answer to the last.
func (e *ending) run(end func(*ending) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var open []running
	defer func() {
		for _, a := range open {
			_ = a.body.Close()
		}
	}()
	for i := range answersOpen {
		for n, node := range e.nodes {
			what, path := "stream", stream()
			if i%3 == 2 {
				what, path = "download", e.download()
			}
			resp, err := e.send(node, http.MethodGet, path)
			if err == nil && resp.StatusCode != http.StatusOK {
				err = errors.Join(fmt.Errorf("status %d", resp.StatusCode), resp.Body.Close())
			}
			if err != nil {
				return fmt.Errorf("a %s of node %d: %w", what, n, err)
			}
			open = append(open, running{what: fmt.Sprintf("a %s of node %d", what, n), body: resp.Body})
			if _, err := io.ReadFull(resp.Body, make([]byte, 1<<10)); err != nil {
				return fmt.Errorf("a %s of node %d: %w", what, n, err)
			}
		}
	}
	for n, node := range e.nodes {
		tail, err := e.tail(node)
		if err != nil {
			return fmt.Errorf("a tail of node %d: %w", n, err)
		}
		open = append(open, running{what: fmt.Sprintf("a tail of node %d", n), body: tail, tail: true})
	}
	e.w.archive.Set(proxy.Down, proxy.Rule{Then: proxy.Hold})
	defer func() {
		e.w.archive.Reset()
		e.w.archive.Heal()
	}()
	calls := make(chan call, len(e.nodes))
	for _, node := range e.nodes {
		go func() { calls <- e.call(ctx, node) }()
	}
	select {
	case c := <-calls:
		return fmt.Errorf("a call did not wait for the archive: %d %s %w", c.status, c.text, c.err)
	case <-time.After(500 * time.Millisecond):
	}
	for n, node := range e.nodes {
		if tails := node.Metrics()[tailsNow]; tails != 1 {
			return fmt.Errorf("node %d has %.0f tails before the token ended", n, tails)
		}
	}
	if err := end(e); err != nil {
		return err
	}
	if err := must.Until(patience, "both nodes refuse the tokens", func() bool { return e.refused() }); err != nil {
		return wrong("I8", "an ended token is accepted: %v", err)
	}
	over := time.Now()
	limit := time.After(brokenWithin)
	half := make(chan time.Duration, 1)
	go func() { half <- e.halfBroken(over) }()
	for range e.nodes {
		select {
		case c := <-calls:
			if c.err == nil && c.status == http.StatusOK && strings.Contains(c.text, `"data"`) {
				return wrong("I8", "a call was answered after its token ended: %.300s", c.text)
			}
		case <-limit:
			return wrong("I8", "a call runs on %s after its token ended", brokenWithin)
		}
	}
	<-limit
	if took := <-half; took > halfWithin {
		return wrong("I8", "half of the streams run on for %s after their token ended", took.Round(time.Millisecond))
	}
	for i, node := range e.nodes { // before the clients read anything
		if n, known := node.Metrics()[streamsNow]; n != 0 || !known {
			return wrong("I8", "node %d has %.0f streams %s after their token ended", i, n, brokenWithin)
		}
		if n, known := node.Metrics()[tailsNow]; n != 0 || !known {
			return wrong("I8", "node %d has %.0f tails %s after their token ended", i, n, brokenWithin)
		}
	}
	for _, a := range open {
		if a.tail {
			if text, err := io.ReadAll(a.body); err == nil && !bytes.Contains(text, []byte(`"reason":"ACCESS_TOKEN_EXPIRES"`)) {
				return wrong("I8", "%s ended well, and not because its token expires: %.300s", a.what, text)
			}
			continue
		}
		if n, err := io.Copy(io.Discard, a.body); err == nil {
			return wrong("I8", "%s went on to its end after its token ended: %d bytes more", a.what, n)
		}
	}
	return nil
}

// streamsNow is the metric of the streams that a node is reading for; tailsNow
// that of its tails.
const (
	streamsNow = `preismon_reads{kind="stream"}`
	tailsNow   = "preismon_changes_tails"
)

// halfBroken waits until at most half of the streams run, and returns the time
// since then; brokenWithin, if they went on for longer.
func (e *ending) halfBroken(since time.Time) time.Duration {
	for ; time.Since(since) < brokenWithin; time.Sleep(20 * time.Millisecond) {
		runs := 0.0
		for _, node := range e.nodes {
			n, known := node.Metrics()[streamsNow]
			if !known { // the node could not be queried
				n = streamsOpen
			}
			runs += n
		}
		if runs <= streamsOpen/2 {
			return time.Since(since)
		}
	}
	return brokenWithin
}

// running is an answer whose client reads nothing.
type running struct {
	what string
	body io.ReadCloser
	tail bool // it may end well before its token expires
}

// call is the outcome of an agent's call.
type call struct {
	status int
	text   string
	err    error
}

// stream is a read of everything that was captured in the run.
func stream() string {
	now := time.Now().UTC()
	return "/v1/results/stream?" + url.Values{
		"globalScope": {"true"}, "includeExportFields": {"true"},
		"capturedFrom": {now.Add(-40 * time.Hour).Format(time.RFC3339)}, "capturedTo": {now.Format(time.RFC3339)},
	}.Encode()
}

func (e *ending) download() string {
	at := e.w.file.at.Format(time.RFC3339Nano)
	return "/v1/orders/1/exports/history/download?" + url.Values{"name": {fileName}, "dateFrom": {at}, "dateTo": {at}}.Encode()
}

// tail opens a tail and reads its first bytes.
func (e *ending) tail(node *process.Role) (io.ReadCloser, error) {
	resp, err := e.send(node, http.MethodGet, feedPath+"?follow=true")
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("status %d", resp.StatusCode), resp.Body.Close())
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 10)); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	return resp.Body, nil
}

// call lets an agent request the file.
func (e *ending) call(ctx context.Context, node *process.Role) call {
	at := e.w.file.at.Format(time.RFC3339Nano)
	arguments, err := json.Marshal(map[string]string{"orderId": "1", "name": fileName, "dateFrom": at, "dateTo": at})
	if err != nil {
		return call{err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	status, text, err := status(caller.Client{HTTP: web, URL: node.URL(), Token: e.agent}.CallTool(ctx, "download_order_export_file", string(arguments)))
	return call{status, string(text), err}
}

// refused reports whether no node accepts the tokens any more.
func (e *ending) refused() bool {
	for _, node := range e.nodes {
		resp, err := e.send(node, http.MethodGet, "/v1/sites")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			return false
		}
	}
	return true
}

// whole returns the size of a stream that is read to its end.
func (e *ending) whole(node *process.Role) (int, error) {
	fast := *e
	fast.client = e.w.readers[0].client
	resp, err := fast.send(node, http.MethodGet, stream())
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return int(n), err
}

// send sends a request without a body.
func (e *ending) send(node *process.Role, method, path string) (*http.Response, error) {
	return caller.Client{HTTP: e.client, URL: node.URL(), Token: e.rest}.Send(context.Background(), method, path, nil)
}

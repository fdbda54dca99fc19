// Package client reads the public surface of any preismon server. It knows HTTP
// and the contract, but not the server's packages. What it reads is complete, in
// order and without duplicate rows; otherwise an error says what is missing. It
// follows every cursor to its end, waits as long as rate limits require, resumes
// after a broken stream, and reads in slices what is refused as too broad.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"preismon/contracts"
)

// Config configures which server to read, and how. The zero values of all fields
// except URL are usable.
type Config struct {
	URL       string // base address, http or https
	Token     contracts.Secret
	Transport http.RoundTripper
	// Patience is how long one request may wait in total for a limit to end or
	// for a server to come back; default 10 minutes.
	Patience time.Duration
	// Stall is how long an answer may make no progress before it counts as
	// broken; default one minute.
	Stall time.Duration
	// Wait waits; default is the clock. Tests replace it.
	Wait func(context.Context, time.Duration) error
	// Notice receives sentences that people may want to read: about waits,
	// breaks, slices.
	Notice func(string)
}

// Client reads one server with one token, one request at a time. It is not safe
// for concurrent use.
type Client struct {
	cfg   Config
	base  *url.URL
	http  *http.Client
	pause time.Duration // before the next request
	skew  time.Duration // the server's clock ahead of ours

	answered bool // the server has answered at least once
}

// New checks the address; it does not connect.
func New(cfg Config) (*Client, error) {
	base, err := ParseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	cfg.Patience, cfg.Stall = cmp.Or(cfg.Patience, 10*time.Minute), cmp.Or(cfg.Stall, time.Minute)
	if cfg.Wait == nil {
		cfg.Wait = Sleep
	}
	if cfg.Notice == nil {
		cfg.Notice = func(string) {}
	}
	return &Client{cfg: cfg, base: base, http: &http.Client{Transport: cfg.Transport}}, nil
}

// ParseURL parses the base address of a server and drops slashes at its end.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("url: %q is not of the form https://HOST[:PORT][/PATH]", text)
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

// Local reports whether the server's address is on this machine, where
// compressing what it sends only costs time.
func (c *Client) Local() bool {
	host := c.base.Hostname()
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// now returns the server's time, to the second, as far as it has been learnt
// from answers.
func (c *Client) now() time.Time { return time.Now().Add(c.skew) }

// Sleep waits for a time, or until ctx ends, whose cause is the error.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// request is a request to send; post makes it a POST.
type request struct {
	path   string
	params url.Values
	header http.Header
	post   bool
	body   string
}

// once sends a request a single time. The answer's body fails when it makes no
// progress.
func (c *Client) once(ctx context.Context, r request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	method, body := http.MethodGet, io.Reader(nil)
	if r.post {
		method, body = http.MethodPost, strings.NewReader(r.body)
	}
	u := c.base.JoinPath(r.path)
	u.RawQuery = r.params.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	maps.Copy(req.Header, r.header)
	req.Header.Set("User-Agent", "preismon")
	if c.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Token.Reveal())
	}
	still := time.AfterFunc(c.cfg.Stall, func() { cancel(errStall) })
	resp, err := c.http.Do(req)
	if err != nil {
		still.Stop()
		if errors.Is(context.Cause(ctx), errStall) {
			err = errStall
		}
		cancel(nil)
		return nil, err
	}
	resp.Body = &liveBody{resp.Body, ctx, still, c.cfg.Stall, cancel}
	return resp, nil
}

var errStall = errors.New("the server sent nothing for too long")

// liveBody is a body that fails when it stalls.
type liveBody struct {
	io.ReadCloser
	ctx    context.Context // of the request
	still  *time.Timer
	limit  time.Duration
	cancel context.CancelCauseFunc
}

func (b *liveBody) Read(p []byte) (int, error) {
	b.still.Reset(b.limit)
	n, err := b.ReadCloser.Read(p)
	b.still.Stop() // the reader may take its time
	if err != nil && errors.Is(context.Cause(b.ctx), errStall) {
		err = errStall
	}
	return n, err
}

func (b *liveBody) Close() error {
	b.still.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

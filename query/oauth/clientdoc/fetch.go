package clientdoc

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"code.dny.dev/ssrf"
	"golang.org/x/net/publicsuffix"
	"golang.org/x/sync/singleflight"

	"preismon/contracts/fault"
)

// Fetcher fetches documents and remembers them. It is safe for concurrent use.
type Fetcher struct {
	cfg    Config
	now    func() time.Time
	client *http.Client
	calls  singleflight.Group
	slots  chan struct{}

	mu      sync.Mutex
	known   *recent[answer]
	fetches *recent[window]
}

// answer is the result of a fetch.
type answer struct {
	doc   Document
	err   error
	until time.Time
}

// window counts the fetches from one domain.
type window struct {
	from time.Time
	n    int
}

const windowLength = time.Minute

// New returns a Fetcher.
func New(cfg Config, deps Deps) (*Fetcher, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Control == nil {
		deps.Control = ssrf.New(ssrf.WithPorts(cfg.Ports...)).Safe
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	// Control runs after the name has been resolved, on the very address that
	// is connected to: a second look-up cannot change it.
	dialer := &net.Dialer{Control: deps.Control, Resolver: deps.Resolver}
	return &Fetcher{
		cfg: cfg,
		now: deps.Now,
		client: &http.Client{
			Transport: &http.Transport{
				Proxy:                  nil, // not that of the environment: it would dial for us, unchecked
				DialContext:            dialer.DialContext,
				TLSClientConfig:        &tls.Config{RootCAs: deps.Roots, MinVersion: tls.VersionTLS12},
				DisableKeepAlives:      true,
				DisableCompression:     true,
				MaxResponseHeaderBytes: 16 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		slots:   make(chan struct{}, cfg.AtOnce),
		known:   newRecent[answer](cfg.Entries),
		fetches: newRecent[window](cfg.Entries),
	}, nil
}

// Fetch returns the document of a client id. A wrong id or document is an
// Invalid fault with code CodeInvalidClient; a host that cannot or must not be
// reached is an Unavailable one, the same in both cases; a domain that was
// fetched from too often is RateLimited. Concurrent fetches of one id are a
// single fetch, and a caller that leaves does not end it for the others.
func (f *Fetcher) Fetch(ctx context.Context, clientID string) (Document, error) {
	u, err := parseID(clientID, f.cfg.Ports)
	if err != nil {
		return Document{}, err
	}
	known, ok := f.remembered(clientID)
	if !ok {
		joined := f.calls.DoChan(clientID, func() (any, error) {
			if a, ok := f.remembered(clientID); ok { // another fetch has just ended
				return a, nil
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.cfg.Timeout)
			defer cancel()
			return f.fetch(ctx, u, clientID), nil
		})
		select {
		case r := <-joined:
			known = r.Val.(answer)
		case <-ctx.Done():
			return Document{}, context.Cause(ctx)
		}
	}
	known.doc.RedirectURIs = slices.Clone(known.doc.RedirectURIs)
	return known.doc, known.err
}

func (f *Fetcher) remembered(clientID string) (answer, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.known.get(clientID)
	return a, ok && f.now().Before(a.until)
}

// fetch fetches a document and remembers the result. Refusals by our own limits
// are not remembered.
func (f *Fetcher) fetch(ctx context.Context, u *url.URL, clientID string) answer {
	if err := f.count(u.Hostname()); err != nil {
		return answer{err: err}
	}
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return answer{err: f.unavailable(errors.New("all slots are taken"))}
	}
	a := answer{}
	var keep time.Duration
	if a.doc, keep, a.err = f.get(ctx, u, clientID); a.err != nil {
		keep = f.cfg.RefusedFor
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	a.until = f.now().Add(keep)
	f.known.put(clientID, a)
	return a
}

// count uses up one of the fetches that a domain has per minute. The hosts of
// one domain count together, because its owner can create as many as they like.
func (f *Fetcher) count(host string) error {
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		domain = host
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w, _ := f.fetches.get(domain)
	now := f.now()
	if now.Sub(w.from) >= windowLength {
		w = window{from: now}
	}
	if w.n >= f.cfg.PerMinute {
		limit := fault.New(fault.RateLimited, "", "Too many client metadata documents of this domain were requested.")
		limit.RetryAfter = w.from.Add(windowLength).Sub(now)
		return limit
	}
	w.n++
	f.fetches.put(domain, w)
	return nil
}

func (f *Fetcher) unavailable(err error) error {
	return &fault.Error{Kind: fault.Unavailable, Msg: "The client's metadata document cannot be fetched at the moment.", RetryAfter: f.cfg.RefusedFor, Err: err}
}

// get requests the document once and returns how long it may be kept.
func (f *Fetcher) get(ctx context.Context, u *url.URL, clientID string) (Document, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, clientID, http.NoBody)
	if err != nil {
		return Document{}, 0, refuse("The client id is not a URL.")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "preismon")
	res, err := f.client.Do(req)
	if err != nil {
		return Document{}, 0, f.unavailable(err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests:
		return Document{}, 0, f.unavailable(errors.New(res.Status))
	case res.StatusCode != http.StatusOK:
		return Document{}, 0, refuse("The client's metadata document was answered with status %d; redirects are not followed.", res.StatusCode)
	case !isJSON(res.Header):
		return Document{}, 0, refuse("The client's metadata document is not sent as application/json.")
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, f.cfg.MaxBytes+1))
	if err = cmp.Or(err, ctx.Err()); err != nil { // a connection that we cut can look like the end of the body
		return Document{}, 0, f.unavailable(err)
	}
	if int64(len(body)) > f.cfg.MaxBytes {
		return Document{}, 0, refuse("The client's metadata document is longer than %d bytes.", f.cfg.MaxBytes)
	}
	doc, err := parseDocument(body, clientID, u.Host, f.cfg.Schemes)
	return doc, f.cfg.keep(res.Header), err
}

func isJSON(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	encoding := h.Get("Content-Encoding")
	return err == nil && (encoding == "" || strings.EqualFold(encoding, "identity")) &&
		(media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))
}

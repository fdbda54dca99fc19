package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"preismon/contracts/plaintext"
)

// Problem is a refusal of the server (RFC 9457).
type Problem struct {
	Status    int    `json:"-"`
	Code      string `json:"code"` // empty if a proxy answered
	Detail    string `json:"detail"`
	RequestID string `json:"-"`
}

// invalidRequest is the code of every kind of invalid request; the detail says
// more.
const invalidRequest = "MVP_VALIDATION_ERROR"

func (p *Problem) Error() string {
	switch {
	case p.Code == "":
		return fmt.Sprintf("the answer is %d %s and no problem of the contract: is this the address of a preismon server?", p.Status, http.StatusText(p.Status))
	case p.Code == invalidRequest:
		return p.Detail
	case p.RequestID != "" && p.Status >= 500:
		return fmt.Sprintf("%s (%s, request %s)", p.Detail, p.Code, p.RequestID)
	}
	return fmt.Sprintf("%s (%s)", p.Detail, p.Code)
}

// codeOf returns the code of a refusal; empty for any other error.
func codeOf(err error) string {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p.Code
	}
	return ""
}

// Expired reports whether an error means that the token is not (or no longer) valid.
func Expired(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Status == http.StatusUnauthorized && p.Code != "AUTH_CREDENTIALS_INVALID"
}

// Invalid reports whether an error means that the request does not follow the contract.
func Invalid(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Status == http.StatusBadRequest
}

// do sends a request until it is answered: it waits if the server says so, and
// retries if that may help. The answer it returns has a status below 400.
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
	explained := explainingOf(ctx, r)
	if explained != nil {
		params := url.Values{"path": {r.path}}
		maps.Copy(params, r.params)
		r = request{path: "/ext/v1/explain", params: params}
	}
	var waited time.Duration
	var said string // the same reason is reported once
	for try := 0; ; try++ {
		if c.pause > 0 {
			c.notice("The rate limit is used up: waiting %v.", c.pause)
			if err := c.cfg.Wait(ctx, c.pause); err != nil {
				return nil, err
			}
			c.pause = 0
		}
		resp, err := c.once(ctx, r)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		retry := !r.post // a request that may have arrived is not sent twice
		wait := Backoff(try)
		most := mostTries
		if !c.answered {
			most = firstTries
		}
		if err == nil {
			c.answered = true
			c.observe(resp.Header)
			if resp.StatusCode < http.StatusBadRequest && explained != nil {
				return nil, explained.note(resp)
			}
			if resp.StatusCode < http.StatusBadRequest {
				return resp, nil
			}
			p := problemOf(resp)
			err = p
			switch {
			case p.Status == http.StatusTooManyRequests, p.Status == http.StatusServiceUnavailable:
				retry = true
				if after, ok := RetryAfter(resp.Header, c.now()); ok {
					wait = after
				}
				c.pause = 0 // Retry-After is more precise
			case p.Code == "" && (p.Status == http.StatusBadGateway || p.Status == http.StatusGatewayTimeout):
			default:
				retry = false
			}
		}
		if waited += wait; !retry || waited > c.cfg.Patience || try >= most && !passes(err) {
			return nil, err
		}
		if text := sentence(err); text != said {
			c.notice("%s Trying again in %v.", text, wait)
			said = text
		}
		if err := c.cfg.Wait(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// passes reports whether the server itself says that it will answer later, so
// that only patience limits the tries.
func passes(err error) bool {
	code := codeOf(err)
	return code == "RATE_LIMIT_EXCEEDED" || code == "SERVICE_UNAVAILABLE"
}

// A server that has never answered is more likely absent than restarting.
const mostTries, firstTries = 6, 3

// Backoff is how long to wait before the next try if the server does not say.
func Backoff(try int) time.Duration { return min(500*time.Millisecond<<min(try, 10), 30*time.Second) }

func (c *Client) notice(format string, args ...any) { c.cfg.Notice(fmt.Sprintf(format, args...)) }

func sentence(err error) string {
	text := plaintext.Clean(err.Error(), 500)
	if n := len(text); n > 0 && text[n-1] != '.' {
		text += "."
	}
	return text
}

// observe learns from an answer how long the next request has to wait.
func (c *Client) observe(h http.Header) {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		c.skew = time.Until(date).Truncate(time.Second)
	}
	left, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	if err != nil || left > 0 {
		return
	}
	reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		return
	}
	c.pause = min(max(0, time.Unix(reset, 0).Sub(c.now()).Round(time.Second)), c.cfg.Patience)
}

// RetryAfter parses Retry-After: seconds, or a date (RFC 9110, 10.2.3).
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, date.Sub(now)), true
	}
	return 0, false
}

// problemOf reads a refusal, and closes its body.
func problemOf(resp *http.Response) *Problem {
	defer resp.Body.Close() //nolint:errcheck // what matters has been read
	const most = 64 << 10
	p := &Problem{}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, most)) // a part is enough
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media == "application/problem+json" {
		if json.Unmarshal(text, p) != nil {
			p = &Problem{}
		}
	}
	p.Status, p.Detail, p.RequestID = resp.StatusCode, plaintext.Clean(p.Detail, 1000), plaintext.Clean(resp.Header.Get("X-Request-Id"), 64)
	return p
}

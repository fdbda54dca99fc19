package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"

	"preismon/cmd/preismon/client"
)

// deliveryLimit bounds one attempt, of a mail only the dialling, and so how long
// a stop takes.
const deliveryLimit = 15 * time.Second

// message is one alert for one target.
type message struct {
	ID   string // the same for each attempt, and unique to this alert and rule
	Body []byte // the same for each attempt
}

// newMessage returns the message of an alert of a rule.
func newMessage(rule string, raw json.RawMessage) (message, error) {
	var a struct {
		AlertID string `json:"alertId"`
		After   struct {
			CapturedAt string `json:"capturedAt"`
		} `json:"after"`
		Deadline string `json:"deadline"` // of a silent pair, which has no such capture
	}
	if err := json.Unmarshal(raw, &a); err != nil || a.AlertID == "" {
		return message{}, errors.New("the server's answer has an alert without alertId")
	}
	body, err := json.Marshal(struct {
		Type      string          `json:"type"`
		Timestamp string          `json:"timestamp"` // of the capture, or of the deadline
		Rule      string          `json:"rule"`
		Data      json.RawMessage `json:"data"`
	}{"alert." + rule, cmp.Or(a.After.CapturedAt, a.Deadline), rule, raw})
	return message{ID: a.AlertID + "_" + rule, Body: body}, err
}

// deliver makes one attempt to deliver a message.
type deliver func(context.Context, message) error

// later is a refusal that says when to retry.
type later struct {
	error
	after time.Duration
}

// mostPatience bounds the Retry-After that is honoured.
const mostPatience = time.Hour

// deliver returns the function that delivers to a target.
func (f *File) deliver(t Target) deliver {
	if t.Webhook != nil {
		u, _ := url.Parse(t.Webhook.URL) // was checked
		return t.Webhook.deliver(sender(f.allows(u.Hostname())))
	}
	if t.Email != nil {
		return t.Email.deliver(f.allows(t.Email.host))
	}
	return func(ctx context.Context, m message) error { return command(ctx, t.Command, m) }
}

// guard refuses addresses that are not public, at any port.
func guard() *ssrf.Guardian { return ssrf.New(ssrf.WithAnyPort()) }

func dialer(anywhere bool) *net.Dialer {
	if anywhere {
		return &net.Dialer{}
	}
	return &net.Dialer{Control: guard().Safe}
}

// sender returns a client for webhooks. Each address is checked when it is
// dialled, after the name was resolved; redirects are not followed, and no proxy
// is used.
func sender(anywhere bool) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: nil, DialContext: dialer(anywhere).DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// deliver posts according to Standard Webhooks 1.0.0: any 2xx is a delivery.
func (w *Webhook) deliver(send *http.Client) deliver {
	return func(ctx context.Context, m message) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(m.Body))
		if err != nil {
			return err
		}
		now := time.Now()
		stamp := strconv.FormatInt(now.Unix(), 10)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("User-Agent", "preismon")
		req.Header.Set("webhook-id", m.ID)
		req.Header.Set("webhook-timestamp", stamp)
		req.Header.Set("webhook-signature", "v1,"+sign(w.key, m.ID, stamp, m.Body))
		resp, err := send.Do(req)
		if urlError, ok := errors.AsType[*url.Error](err); ok {
			return urlError.Err // without the address, which may contain a secret
		}
		if err != nil {
			return err
		}
		defer resp.Body.Close() //nolint:errcheck // nothing of it is read
		if resp.StatusCode/100 == 2 {
			return nil
		}
		err = fmt.Errorf("it answers %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
		if after, ok := client.RetryAfter(resp.Header, now); ok {
			return later{err, min(after, mostPatience)}
		}
		return err
	}
}

func sign(key []byte, id, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, id+"."+stamp+".")
	_, _ = mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// keyOf decodes a secret of Standard Webhooks.
func keyOf(text string) ([]byte, error) {
	coded, ok := strings.CutPrefix(strings.TrimSpace(text), "whsec_")
	key, err := base64.StdEncoding.DecodeString(coded)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("is not whsec_ and 24 to 64 bytes in base64")
	}
	return key, nil
}

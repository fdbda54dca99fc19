package notify

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"preismon/cmd/preismon/client"
)

// seen is what is known about a site that is watched for silence.
type seen struct {
	Last     string    `json:"last,omitempty"`     // its newest capture; empty: none yet
	Since    time.Time `json:"since"`              // of that capture, or of the first check of a site without one
	Reported bool      `json:"reported,omitempty"` // that nothing came for too long
}

// silence reports sites where nothing has been captured for as long as a rule
// says, by the server's clock: each silence once, and again only after a new
// capture.
func (r *route) silence(ctx context.Context, rule Rule) error {
	key, params := rule.Name+"/"+r.target, rule.params()
	limit, _ := time.ParseDuration(string(rule.SilentFor)) // was checked
	at := r.state.at(key)
	if at.Params != params.Encode() || at.Sites == nil {
		at = position{Params: params.Encode(), Sites: map[string]seen{}}
	}
	c, err := r.connected()
	if err != nil {
		return err
	}
	status, err := c.SiteStatus(ctx, params)
	if err != nil {
		if client.Expired(err) {
			r.client = nil // a new login may have happened since
		}
		return err
	}
	sites := map[string]seen{} // sites that are no longer listed are forgotten
	for _, site := range status.Data {
		now, err := seenOf(site, at.Sites, status.Query.AsOf)
		if err != nil {
			return err
		}
		sites[site.Site] = now
	}
	changed := len(sites) != len(at.Sites)
	for site, now := range sites {
		changed = changed || at.Sites[site] != now
	}
	if at.Sites = sites; changed { // also so that the time of a site without a capture counts from now on
		if err := r.state.keep(key, at); err != nil {
			return err
		}
	}
	for _, site := range status.Data {
		now := at.Sites[site.Site]
		if now.Reported || status.Query.AsOf.Sub(now.Since) <= limit {
			continue
		}
		m, err := silenceMessage(rule, site.Site, now)
		if err != nil {
			return err
		}
		if err := r.hand(ctx, rule, m); err != nil {
			return err
		}
		now.Reported = true
		at.Sites[site.Site] = now
		if err := r.state.keep(key, at); err != nil {
			return err
		}
	}
	return nil
}

// seenOf returns what is known about a site now, given what was known before.
func seenOf(s client.SiteStatus, before map[string]seen, asOf time.Time) (seen, error) {
	was, known := before[s.Site]
	switch {
	case s.LastCapturedAt == nil && known && was.Last == "":
		return was, nil
	case s.LastCapturedAt == nil:
		return seen{Since: asOf}, nil
	case known && was.Last == *s.LastCapturedAt:
		return was, nil
	}
	since, err := time.Parse(time.RFC3339Nano, *s.LastCapturedAt)
	if err != nil {
		return seen{}, fmt.Errorf("the server's answer has the instant %q", *s.LastCapturedAt)
	}
	return seen{Last: *s.LastCapturedAt, Since: since}, nil
}

// silenceMessage returns the same message each time a silence is reported.
func silenceMessage(rule Rule, site string, of seen) (message, error) {
	sum := sha256.Sum256([]byte("silence\x00" + site + "\x00" + of.Last + "\x00" + of.Since.UTC().Format(time.RFC3339Nano) + "\x00" + rule.params().Encode()))
	id := base64.RawURLEncoding.EncodeToString(sum[:12])
	var last *string
	if of.Last != "" {
		last = &of.Last
	}
	body, err := json.Marshal(map[string]any{
		"type": "alert." + rule.Name, "timestamp": of.Since, "rule": rule.Name,
		"data": map[string]any{"alertId": id, "rule": "NO_OBSERVATION", "site": site, "lastCapturedAt": last, "silentFor": string(rule.SilentFor)},
	})
	return message{ID: id + "_" + rule.Name, Body: body}, err
}

// silent checks a rule about silence: for how long, and of which sites.
func (c *checker) silent(at, name string, r Rule) {
	d, err := time.ParseDuration(string(r.SilentFor))
	c.want(err == nil && d >= time.Minute, at+".silentFor", "%s: silentFor: %q is no duration of at least 1m, like 6h", name, r.SilentFor)
	only := url.Values{}
	for _, known := range []string{"site", "orderId"} {
		if value := r.params().Get(known); value != "" {
			only.Set(known, value)
		}
	}
	c.want(only.Encode() == r.params().Encode(), at, "%s: silentFor goes with site and orderId, and with nothing else", name)
}

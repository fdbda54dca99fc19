package client

import (
	"context"
	"net/url"
	"time"
)

// SiteStatuses is the answer of GET /ext/v1/sites/status, as of an instant of
// the server's clock.
type SiteStatuses struct {
	Data  []SiteStatus `json:"data"`
	Query struct {
		AsOf time.Time `json:"asOf"`
	} `json:"query"`
}

// SiteStatus is how fresh a site is.
type SiteStatus struct {
	Site           string  `json:"site"`
	LastCapturedAt *string `json:"lastCapturedAt"` // nil: nothing was captured yet
}

// SiteStatus returns how fresh the sites are that the parameters select.
func (c *Client) SiteStatus(ctx context.Context, params url.Values) (*SiteStatuses, error) {
	return get[SiteStatuses](ctx, c, "/ext/v1/sites/status", params)
}

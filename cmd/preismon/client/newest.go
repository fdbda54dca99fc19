package client

import (
	"context"
	"encoding/json"
	"net/url"
)

// Window is what a read covered, as the server reports it; an open end is empty.
type Window struct {
	From string `json:"capturedFrom"`
	To   string `json:"capturedTo"`
}

// Covered returns the full window of a read of results.
func (c *Client) Covered(ctx context.Context, params url.Values) (Window, error) {
	page, err := get[struct{ Query Window }](ctx, c, resultsPath, with(params, 1, ""))
	return page.Query, err
}

// Newest returns the capture time of the newest row for the same parameters in
// any window; empty if there is none.
func (c *Client) Newest(ctx context.Context, params url.Values) (string, error) {
	params = clone(params)
	for name, value := range map[string]string{"capturedFrom": "1970-01-02", "capturedTo": Instant(c.now()), "sort": "desc"} {
		params.Set(name, value)
	}
	params.Del("latestPerPair")
	params.Del("latestObservationPerPair")
	page, err := c.page(ctx, resultsPath, params, 1, "")
	if err != nil || len(page.Data) == 0 {
		return "", err
	}
	var row struct {
		CapturedAt string `json:"capturedAt"`
	}
	err = json.Unmarshal(page.Data[0], &row)
	return row.CapturedAt, err
}

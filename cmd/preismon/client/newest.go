package client

import (
	"context"
	"encoding/json"
	"net/url"
)

// Window is what a read covered, as the server says it; empty where it is open.
type Window struct {
	From string `json:"capturedFrom"`
	To   string `json:"capturedTo"`
}

// Covered tells which window a read of results has, in full.
func (c *Client) Covered(ctx context.Context, params url.Values) (Window, error) {
	var page struct {
		Query Window `json:"query"`
	}
	return page.Query, c.get(ctx, resultsPath, with(params, 1, ""), &page)
}

// Newest gives the capture time of the newest row of the same question in any
// window; empty where there is none.
func (c *Client) Newest(ctx context.Context, params url.Values) (string, error) {
	params = clone(params)
	for name, value := range map[string]string{"capturedFrom": "1970-01-02", "capturedTo": instant(c.now()), "sort": "desc"} {
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
	return row.CapturedAt, json.Unmarshal(page.Data[0], &row)
}

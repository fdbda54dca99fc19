package client

import (
	"context"
	"net/url"
)

// CountedWindow is a part of a time range; its rows are identified by their digest.
type CountedWindow struct {
	CapturedFrom string `json:"capturedFrom"`
	CapturedTo   string `json:"capturedTo"`
	State        string `json:"state"`
	Rows         int64  `json:"rows"`
	Digest       string `json:"digest"`
}

// Windows are those of a time range, or those that may have different rows since a token.
type Windows struct {
	Data  []CountedWindow `json:"data"`
	Query struct {
		Token   string `json:"token"`
		Windows int    `json:"windows"`
	} `json:"query"`
}

// Windows requests the windows of what the parameters select, or those that may
// have different rows since a token.
func (c *Client) Windows(ctx context.Context, since string, params url.Values) (*Windows, error) {
	if since != "" {
		params = url.Values{"since": {since}}
	}
	return get[Windows](ctx, c, "/ext/v1/windows", params)
}

package client

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Changes are rows that became visible, or alerts, in that order, and how to
// continue.
type Changes struct {
	Data     []json.RawMessage `json:"data"`
	Progress struct {
		Token    string `json:"token"`
		UpToDate bool   `json:"upToDate"`
	} `json:"progress"`
}

// changesAtOnce is how many rows of a feed are requested at once.
const changesAtOnce = 1_000

// Changes reads what became visible since a token. It waits up to the given
// time, at most 25 seconds, for the first row. Without a token it returns one
// for this moment, for what the parameters select.
func (c *Client) Changes(ctx context.Context, since string, params url.Values, wait time.Duration) (*Changes, error) {
	return c.feed(ctx, "/ext/v1/changes", since, params, wait)
}

// Alerts reads what fired since a token, as Changes does; without a token it
// starts with the rule in the parameters.
func (c *Client) Alerts(ctx context.Context, since string, params url.Values, wait time.Duration) (*Changes, error) {
	return c.feed(ctx, "/ext/v1/alerts", since, params, wait)
}

func (c *Client) feed(ctx context.Context, path, since string, params url.Values, wait time.Duration) (*Changes, error) {
	if since != "" {
		params = url.Values{"since": {since}}
	}
	params = clone(params)
	params.Set("limit", strconv.Itoa(changesAtOnce))
	params.Set("wait", strconv.Itoa(int(wait.Seconds()))+"s")
	return get[Changes](ctx, c, path, params)
}

// Restart reports whether an error means that a feed cannot continue from its token.
func Restart(err error) bool {
	return slices.Contains([]string{"CHANGES_SCOPE_CHANGED", "CHANGES_HISTORY_REBUILT", "CHANGES_TOKEN_EXPIRED"}, codeOf(err))
}

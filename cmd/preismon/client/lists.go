package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"preismon/contracts"
)

// Page is one page of any list. Rows are JSON objects exactly as the server
// wrote them.
type Page struct {
	Data   []json.RawMessage `json:"data"`
	Paging struct {
		NextCursor string `json:"nextCursor"`
	} `json:"paging"`
}

// page reads one page; limit 0 leaves its size to the server, cursor "" means
// the first page.
func (c *Client) page(ctx context.Context, path string, params url.Values, limit int, cursor string) (*Page, error) {
	return get[Page](ctx, c, path, with(params, limit, cursor))
}

// with returns params with a limit and a cursor.
func with(params url.Values, limit int, cursor string) url.Values {
	all := clone(params)
	if limit > 0 {
		all.Set("limit", strconv.Itoa(limit))
	}
	if cursor != "" {
		all.Set("cursor", cursor)
	}
	return all
}

func clone(params url.Values) url.Values {
	all := url.Values{}
	maps.Copy(all, params)
	return all
}

// get reads one JSON answer.
func get[T any](ctx context.Context, c *Client, path string, params url.Values) (*T, error) {
	answer := new(T)
	for try := 0; ; try++ {
		resp, err := c.do(ctx, request{path: path, params: params})
		if err != nil {
			return answer, err
		}
		if err = decode(resp, answer); err == nil || ctx.Err() != nil || try >= mostTries {
			return answer, err
		}
		c.notice("An answer broke off. Trying again in %v.", Backoff(try))
		if err := c.cfg.Wait(ctx, Backoff(try)); err != nil {
			return answer, err
		}
	}
}

// List yields the records of a list in its order, across all of its pages. It
// ends after the first error.
func (c *Client) List(ctx context.Context, path string, params url.Values) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for cursor := ""; ; {
			page, err := c.page(ctx, path, params, 0, cursor)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, row := range page.Data {
				if !yield(row, nil) {
					return
				}
			}
			if cursor = page.Paging.NextCursor; cursor == "" {
				return
			}
		}
	}
}

// Capabilities is what a reader needs to know about what a server can do.
type Capabilities struct {
	CoreFields    []string            `json:"coreFields"`
	IncludeGroups map[string][]string `json:"includeGroups"`
	Window        struct {
		ProductHistoryHours int `json:"productHistoryHours"`
		DefaultHours        int `json:"defaultHours"`
	} `json:"window"`
}

// Order returns one order.
func (c *Client) Order(ctx context.Context, id string) (json.RawMessage, error) {
	order, err := get[json.RawMessage](ctx, c, "/v1/orders/"+url.PathEscape(id), nil)
	return *order, err
}

// Capabilities requests the server's capabilities.
func (c *Client) Capabilities(ctx context.Context) (*Capabilities, error) {
	return get[Capabilities](ctx, c, "/v1/results/capabilities", nil)
}

// Login requests a token.
func (c *Client) Login(ctx context.Context, login string, password contracts.Secret) (*Kept, error) {
	body, err := json.Marshal(map[string]string{"loginIdentifier": login, "password": password.Reveal()})
	if err != nil {
		return nil, err
	}
	var answer struct {
		AccessToken string `json:"accessToken"`
		ExpiresIn   int    `json:"expiresIn"`
	}
	if err := c.post(ctx, request{path: "/v1/auth/token", body: string(body)}, &answer); err != nil {
		return nil, err
	}
	if answer.AccessToken == "" {
		return nil, fmt.Errorf("%s answered the login without a token: is it a preismon server?", c.base)
	}
	expires := time.Now().Add(time.Duration(answer.ExpiresIn) * time.Second)
	return &Kept{c.base.String(), login, contracts.Secret(answer.AccessToken), expires}, nil
}

// Logout revokes the token; false: the server cannot, and it expires by itself.
func (c *Client) Logout(ctx context.Context) (revoked bool, err error) {
	var answer struct {
		Revoked bool `json:"revoked"`
	}
	err = c.post(ctx, request{path: "/v1/auth/logout"}, &answer)
	return answer.Revoked, err
}

func (c *Client) post(ctx context.Context, r request, into any) error {
	if r.post = true; r.body != "" {
		r.header = map[string][]string{"Content-Type": {"application/json"}}
	}
	resp, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	return decode(resp, into)
}

// decode reads a JSON answer to its end.
func decode(resp *http.Response, into any) error {
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

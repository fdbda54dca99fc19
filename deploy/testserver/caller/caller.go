// Package caller is a client of preismon's public surfaces for tests: it logs in,
// sends requests, calls tools, and reads answers to their end. What an answer
// must be is for the test to judge.
package caller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Client is an account at a node, or nobody without a token.
type Client struct {
	HTTP  *http.Client
	URL   string // of the node
	Token string
}

// Answer is a response that was read to its end.
type Answer struct {
	*http.Response
	Text []byte
}

// Read reads a response to its end.
func Read(resp *http.Response, err error) (Answer, error) {
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(resp.Body)
	return Answer{resp, text}, err
}

// JSON decodes an answer with status 200; any other is an error.
func (a Answer) JSON(into any) error {
	err := json.Unmarshal(a.Text, into)
	if a.StatusCode != http.StatusOK || err != nil {
		return fmt.Errorf("%d %.1000s: %w", a.StatusCode, a.Text, err)
	}
	return nil
}

// Complete reports whether a stream that was read to its end says that it is
// complete with so many lines.
func Complete(resp *http.Response, lines int) bool {
	return resp.StatusCode == http.StatusOK && resp.Trailer.Get("X-Results-Complete") == "true" && resp.Trailer.Get("X-Results-Returned") == strconv.Itoa(lines)
}

// Request prepares a request with the token.
func (c Client) Request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err == nil && c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return r, err
}

// Send sends a request, with a body in JSON unless that is nil, and preferences.
// The caller must read and close the answer.
func (c Client) Send(ctx context.Context, method, path string, body []byte, prefer ...string) (*http.Response, error) {
	r, err := c.Request(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(prefer) > 0 {
		r.Header["Prefer"] = prefer
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream") // for MCP, too
	}
	return c.HTTP.Do(r)
}

// Get reads the answer to a GET.
func (c Client) Get(ctx context.Context, path string, prefer ...string) (Answer, error) {
	return Read(c.Send(ctx, http.MethodGet, path, nil, prefer...))
}

// Post reads the answer to a POST of JSON, or without a body.
func (c Client) Post(ctx context.Context, path string, body []byte) (Answer, error) {
	return Read(c.Send(ctx, http.MethodPost, path, body))
}

// LoginPath is where a login is sent.
const LoginPath = "/v1/auth/token"

// LoginBody is the body of a login.
func LoginBody(login, password string) []byte {
	body, _ := json.Marshal(map[string]string{"loginIdentifier": login, "password": password})
	return body
}

// Login returns the client with a token of an account.
func (c Client) Login(ctx context.Context, login, password string) (Client, error) {
	var given struct{ AccessToken string }
	a, err := c.Post(ctx, LoginPath, LoginBody(login, password))
	if err == nil {
		err = a.JSON(&given)
	}
	if err != nil {
		return c, fmt.Errorf("log in as %s: %w", login, err)
	}
	c.Token = given.AccessToken
	return c, nil
}

// CallTool sends a call of an MCP tool, with its arguments as JSON.
func (c Client) CallTool(ctx context.Context, name, arguments string) (Answer, error) {
	return c.Post(ctx, "/mcp", fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments))
}

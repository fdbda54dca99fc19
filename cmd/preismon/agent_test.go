package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/deploy/testserver/caller"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// agent is a client of the MCP surface that knows nothing of it but its
// messages.
type agent struct {
	t     *testing.T
	url   string
	token string
	http  *http.Client
}

// agent returns one for an account of the demo.
func (d *demoTest) agent(t *testing.T, name string) *agent {
	t.Helper()
	return d.up.agent(t, d.account(t, name).LoginIdentifier)
}

// agent returns one for an account, with a token like one from a consent:
// signed with the key in the data folder.
func (u *upProcess) agent(t *testing.T, login string) *agent {
	t.Helper()
	authority := must.Get(auth.NewIssuer(u.URL, filepath.Join(u.DataDir, "token-key.pem")))(t)
	id := number(t, u.tables(), "SELECT account FROM accounts FINAL WHERE login_identifier = ?", login)
	issued := must.Get(authority.Issue(auth.Grant{
		Account: contracts.AccountID(id), Audience: u.URL + "/mcp", Lifetime: time.Hour, Scopes: []string{"mcp"}, Client: "test", Session: "test",
	}))(t)
	return &agent{t, u.URL, issued.Token.Reveal(), u.client().http}
}

// toolAnswer is the outcome of a tool call: its structured content.
type toolAnswer struct {
	failed bool
	body   json.RawMessage
}

// call calls a tool. Text and structured content must be the same.
func (a *agent) call(name string, arguments map[string]any) (toolAnswer, error) {
	given, err := json.Marshal(arguments)
	if err != nil {
		return toolAnswer{}, err
	}
	var r struct {
		IsError           bool
		StructuredContent json.RawMessage
		Content           []struct{ Type, Text string }
	}
	if err := result(&r)(a.at().CallTool(a.t.Context(), name, string(given))); err != nil || len(r.Content) == 0 {
		return toolAnswer{}, fmt.Errorf("%s: %w", name, err)
	}
	if !sameJSON(r.StructuredContent, []byte(r.Content[0].Text)) {
		return toolAnswer{}, fmt.Errorf("%s: the text is not the structured content", name)
	}
	return toolAnswer{r.IsError, r.StructuredContent}, nil
}

func (a *agent) at() caller.Client { return caller.Client{HTTP: a.http, URL: a.url, Token: a.token} }

// post sends a request of JSON-RPC and decodes its result.
func (a *agent) post(body []byte, into any) error {
	return result(into)(a.at().Post(a.t.Context(), "/mcp", body))
}

// result decodes the result in an answer of JSON-RPC.
func result(into any) func(caller.Answer, error) error {
	return func(a caller.Answer, err error) error {
		var message struct{ Result json.RawMessage }
		if err == nil {
			err = a.JSON(&message)
		}
		if err == nil && message.Result == nil {
			err = fmt.Errorf("no result: %.500s", a.Text)
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(message.Result, into)
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return decodeExact(a, &x) == nil && decodeExact(b, &y) == nil && cmp.Equal(x, y)
}

// decodeExact keeps numbers as they were written.
func decodeExact(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/contracts"
	"preismon/contracts/plaintext"
	"preismon/query/auth"
)

// agent is a client of the MCP surface that knows no more of it than a
// message.
type agent struct {
	t     *testing.T
	url   string
	token string
	http  *http.Client
}

// agent gives one for an account of the demo.
func (d *demoTest) agent(t *testing.T, name string) *agent {
	t.Helper()
	return d.up.agent(t, d.account(t, name).LoginIdentifier)
}

// agent gives one for an account, with a token as a consent gives it: signed
// with the key of the folder.
func (u *upProcess) agent(t *testing.T, login string) *agent {
	t.Helper()
	keys, err := auth.ReadKeyring(filepath.Join(u.DataDir, "token-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	throttle, err := auth.NewThrottle(auth.ThrottleDefaults(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	cfg := auth.Defaults()
	cfg.Issuer = u.URL
	authority, err := auth.New(cfg, auth.Deps{Keys: keys, Accounts: accounts{}, Revocations: noRevocations{}, Throttle: throttle, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	id := number(t, u.tables(), "SELECT account FROM accounts FINAL WHERE login_identifier = ?", login)
	issued, err := authority.Issue(auth.Grant{
		Account: contracts.AccountID(id), Audience: u.URL + "/mcp", Lifetime: time.Hour, Scopes: []string{"mcp"}, Client: "test", Session: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	return &agent{t, u.URL, issued.Token.Reveal(), u.client().http}
}

type noRevocations struct{ auth.Revocations }

// toolAnswer is what came of a tool call: its structured content.
type toolAnswer struct {
	failed bool
	body   json.RawMessage
}

// call calls a tool. Text and structured content must be the same.
func (a *agent) call(name string, arguments map[string]any) (toolAnswer, error) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": arguments},
	})
	if err != nil {
		return toolAnswer{}, err
	}
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		return toolAnswer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.http.Do(req)
	if err != nil {
		return toolAnswer{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return toolAnswer{}, err
	}
	var message struct {
		Result *struct {
			IsError           bool
			StructuredContent json.RawMessage
			Content           []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal(text, &message); err != nil || resp.StatusCode != http.StatusOK || message.Result == nil || len(message.Result.Content) == 0 {
		return toolAnswer{}, fmt.Errorf("%s: %d %.500s %w", name, resp.StatusCode, text, err)
	}
	r := message.Result
	if !sameJSON(r.StructuredContent, []byte(r.Content[0].Text)) {
		return toolAnswer{}, fmt.Errorf("%s: the text is not the structured content", name)
	}
	return toolAnswer{r.IsError, r.StructuredContent}, nil
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return decodeExact(a, &x) == nil && decodeExact(b, &y) == nil && cmp.Equal(x, y)
}

// decodeExact keeps numbers as they are written.
func decodeExact(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// argumentsOf are the parameters of REST as arguments of a tool.
func argumentsOf(params url.Values) map[string]any {
	arguments := map[string]any{}
	for name, values := range params {
		switch v := values[0]; {
		case v == "true" || v == "false":
			arguments[name] = v == "true"
		case name == "limit":
			n, err := strconv.Atoi(v)
			if err != nil {
				arguments[name] = v
				continue
			}
			arguments[name] = n
		default:
			arguments[name] = v
		}
	}
	return arguments
}

// questions asks at random: most of it makes sense.
type questions struct {
	rnd           *rand.Rand
	sites, items  []string
	orders, other []string // of the account, and of another mandate
	from          time.Time
}

func (q *questions) yes(percent int) bool { return q.rnd.IntN(100) < percent }

// next gives a read of results, by the parameters of REST.
func (q *questions) next() url.Values {
	p := url.Values{}
	set := func(percent int, name string, values ...string) {
		if q.yes(percent) {
			p.Set(name, pick(q.rnd, values))
		}
	}
	global := q.yes(15)
	if global {
		p.Set("globalScope", "true")
	}
	if !global || q.yes(5) {
		set(50, "site", q.sites...)
		set(35, "itemId", q.items...)
		set(15, "orderId", q.orders...)
		set(4, "orderId", q.other...)
		set(3, "ean", "4006381333931", "12")
		set(2, "asin", "B000000001")
	}
	if q.yes(70) || global {
		start := q.from.Add(time.Duration(q.rnd.Int64N(int64(30 * time.Hour))))
		length := time.Duration(q.rnd.Int64N(int64(20 * time.Hour)))
		if global && q.yes(20) {
			length = 169 * time.Hour
			start = start.Add(-length)
		}
		p.Set("capturedFrom", start.Format(time.RFC3339Nano))
		p.Set("capturedTo", start.Add(length).Format(time.RFC3339Nano))
		if q.yes(10) {
			p.Set("capturedFrom", start.Format(time.DateOnly))
			p.Set("timezone", pick(q.rnd, []string{"Europe/Berlin", "Asia/Kolkata", "Nowhere/Else"}))
		}
	}
	set(30, "sort", "asc", "desc", "up")
	set(12, "latestPerPair", "true")
	set(8, "latestObservationPerPair", "true")
	for _, group := range []string{"includeCoverage", "includeOrderIds", "includeCustomerData", "includeExportFields", "includeIdentity"} {
		set(25, group, "true", "false")
	}
	set(6, "isPrime", "true", "false")
	set(6, "isBuyBox", "true", "false")
	set(6, "coverageState", "PRICE_OBSERVED", "UNAVAILABLE", "NO_RESULT", "GONE")
	set(4, "merchant", "nobody")
	set(2, "category", "x")
	set(1, "cursor", "AAAA")
	p.Set("limit", strconv.Itoa(1+q.rnd.IntN(300)))
	set(3, "limit", "0", "10001", "many")
	return p
}

// faces: the same 200 random questions over REST, as a stream and over MCP
// have the same rows, scopes and refusals (GEN-03a, GEN-03b, GEN-03c, TOOL-02,
// RES-13, RES-14a).
func (d *demoTest) faces(t *testing.T) {
	const each = 100
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	answered, refused, rows := 0, map[string]int{}, 0
	for i, name := range []string{"anna", "dora"} {
		c, other, a := d.client(t, name), d.client(t, []string{"dora", "anna"}[i]), d.agent(t, name)
		q := &questions{
			rnd: rand.New(rand.NewPCG(seed, uint64(i))), from: time.Now().UTC().Add(-36 * time.Hour),
			sites:  append(listAll(t, c, "/v1/sites", "site"), "no-such-site"),
			items:  append(listAll(t, c, "/v1/items", "itemId")[:20], "999999999", "x"),
			orders: listAll(t, c, "/v1/orders", "orderId"), other: listAll(t, other, "/v1/orders", "orderId"),
		}
		for range each {
			question := q.next()
			n, code, err := compareFaces(c, a, question)
			for try := 0; err != nil && try < 10; try++ { // the market went on between the answers
				n, code, err = compareFaces(c, a, question)
			}
			switch {
			case err != nil:
				t.Errorf("%s, %s: %v", name, question.Encode(), err)
			case code != "":
				refused[code]++
			default:
				answered, rows = answered+1, rows+n
			}
		}
	}
	t.Logf("%d answered with %d rows, refused %v", answered, rows, refused)
	if answered < each || rows < 10*each || len(refused) < 2 {
		t.Error("the questions do not ask enough")
	}
}

// compareFaces asks on all three surfaces; code is that of a common refusal.
func compareFaces(c *api, a *agent, params url.Values) (rows int, code string, err error) {
	type page struct {
		Data   []json.RawMessage
		Paging struct {
			Limit, Returned int
			NextCursor      string
		}
		Query json.RawMessage
		Code  string
		Type  string
	}
	var rest, tool page
	status, body := c.get("/v1/results", params)
	if err := json.Unmarshal(body, &rest); err != nil {
		return 0, "", err
	}
	called, err := a.call("list_results", argumentsOf(params))
	if err != nil {
		return 0, "", err
	}
	if err := json.Unmarshal(called.body, &tool); err != nil {
		return 0, "", err
	}
	streamed := cloned(params)
	streamed.Del("limit")
	if len(params["limit"]) == 1 && (rest.Code != "" || params.Get("limit") == "0") {
		streamed.Set("limit", params.Get("limit"))
	}
	if status != http.StatusOK || called.failed {
		if rest.Code != tool.Code || rest.Type != tool.Type || !called.failed {
			return 0, "", fmt.Errorf("REST refused with %d %s, MCP said %.300s", status, body, called.body)
		}
		if _, _, err := c.stream("/v1/results/stream", streamed, func([]byte) error { return nil }); err == nil || !strings.Contains(err.Error(), rest.Code) {
			return 0, "", fmt.Errorf("REST refused with %s, the stream said %v", rest.Code, err)
		}
		return 0, rest.Code, nil
	}
	if len(tool.Data) != len(rest.Data) {
		return 0, "", fmt.Errorf("MCP has %d rows, REST %d", len(tool.Data), len(rest.Data))
	}
	for i := range rest.Data {
		if diff := cmp.Diff(shownAlike(rest.Data[i]), shownAlike(tool.Data[i])); diff != "" {
			return 0, "", fmt.Errorf("row %d of REST and MCP: %s", i, diff)
		}
	}
	window := []string{"capturedFrom", "capturedTo"}
	if params.Has("capturedTo") {
		window = nil // else it ends now, which is later for who asks later
	}
	if !cmp.Equal(shownAlike(rest.Query, window...), shownAlike(tool.Query, window...)) || tool.Paging.Returned != rest.Paging.Returned || tool.Paging.Limit != rest.Paging.Limit || (tool.Paging.NextCursor == "") != (rest.Paging.NextCursor == "") {
		return 0, "", fmt.Errorf("MCP %+v %s, REST %+v %s", tool.Paging, tool.Query, rest.Paging, rest.Query)
	}
	var lines []json.RawMessage
	_, _, err = c.stream("/v1/results/stream", streamed, func(line []byte) error {
		lines = append(lines, slices.Clone(line))
		return nil
	})
	if err != nil {
		return 0, "", err
	}
	if len(lines) < len(rest.Data) || rest.Paging.NextCursor == "" && len(lines) != len(rest.Data) {
		return 0, "", fmt.Errorf("the stream has %d rows, the page %d", len(lines), len(rest.Data))
	}
	if diff := sameLines(lines[:len(rest.Data)], rest.Data); diff != nil {
		return 0, "", fmt.Errorf("stream and page: %w", diff)
	}
	return len(rest.Data), "", nil
}

// shownAlike is an object as both surfaces show it: MCP cleans texts of
// strangers, and what is processed while the market goes on is later each time.
func shownAlike(object []byte, but ...string) map[string]any {
	var v map[string]any
	if decodeExact(object, &v) != nil {
		return nil
	}
	for _, name := range append(but, "lastProcessedAt") {
		delete(v, name)
	}
	return cleaned(v).(map[string]any)
}

func cleaned(v any) any {
	switch v := v.(type) {
	case string:
		return plaintext.Clean(v, 500)
	case map[string]any:
		for name, value := range v {
			v[name] = cleaned(value)
		}
	case []any:
		for i := range v {
			v[i] = cleaned(v[i])
		}
	}
	return v
}

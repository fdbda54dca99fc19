package mcp_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/auth"
	"preismon/query/mcp"
	"preismon/query/rest"
)

// Accounts. All but the last are of mandate 1.
const (
	whole     contracts.AccountID = 7  // sees the whole mandate
	oneOrder  contracts.AccountID = 8  // sees only order 5
	sitesOnly contracts.AccountID = 9  // may read only sites
	foreigner contracts.AccountID = 10 // of mandate 2
)

// agents has both surfaces of a service over a market, as one program serves
// them.
type agents struct {
	*httptest.Server
	t       testing.TB
	market  *market
	archive *shelf
	auth    *auth.Authority
	service *query.Service
}

type agentSettings struct {
	query    query.Config
	mcp      mcp.Config
	throttle auth.ThrottleConfig
	store    query.Store // the store to read from; default: the market
	now      func() time.Time
}

func newAgents(t testing.TB, m *market, change ...func(*agentSettings)) *agents {
	t.Helper()
	a := &agents{t: t, market: m, archive: &shelf{content: map[contracts.ArchiveID][]byte{}}}
	set := agentSettings{query: query.Defaults(), mcp: mcp.Defaults(), throttle: auth.ThrottleDefaults(), store: m, now: time.Now}
	set.query.CursorKey = contracts.Secret(strings.Repeat("k", 32))
	set.mcp.BaseURL, set.mcp.Build = baseURL, build
	set.throttle.Reads.Requests = 1_000_000
	for _, f := range change {
		f(&set)
	}
	a.auth = newAuthority(t, baseURL, set.throttle, &revocations{ids: map[string]bool{}})
	service := must.Get(query.New(set.query, set.store, set.now, a.archive))(t)
	a.service = service
	log := slog.New(slog.DiscardHandler)
	h := must.Get(mcp.New(set.mcp, mcp.Deps{Service: service, Auth: a.auth, Logger: log, Now: set.now}))(t)
	web := rest.Defaults()
	web.BaseURL, web.Build = baseURL, build
	both := must.Get(rest.New(web, rest.Deps{
		Service: service, Auth: a.auth, Logger: log, Now: time.Now, Mounted: []rest.Mounted{{Paths: []string{"/mcp"}, Handler: h, OwnCORS: true}},
	}))(t)
	a.Server = httptest.NewServer(both)
	t.Cleanup(a.Close)
	return a
}

// shelf is an archive in memory that counts the bytes read from it.
type shelf struct {
	content map[contracts.ArchiveID][]byte
	read    atomic.Int64
	opened  atomic.Int64
}

func (s *shelf) Open(_ context.Context, a query.Artifact, offset int64) (io.ReadCloser, error) {
	content, ok := s.content[a.Archive]
	if !ok {
		return nil, fault.New(fault.NotFound, "", "no such content")
	}
	s.opened.Add(1)
	return io.NopCloser(&counted{bytes.NewReader(content[offset:]), s}), nil
}

type counted struct {
	io.Reader
	shelf *shelf
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.shelf.read.Add(int64(n))
	return n, err
}

// put archives a file of an order, newer than the previous ones.
func (a *agents) put(d query.Direction, order contracts.OrderID, name, filename string, content []byte) query.FileEntry {
	sum := sha256.Sum256(content)
	id := contracts.ArchiveID(len(a.market.files) + 1)
	e := query.FileEntry{
		Artifact: query.Artifact{
			FilesOf: query.FilesOf{Direction: d, OrderID: order}, Mandate: 1, Archive: id, SizeBytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:]),
		},
		Name: name, JobName: "Daily", Filename: filename, ArchivedAt: time.Date(2026, 3, 1, 5, 0, int(id), 0, time.UTC),
	}
	a.market.files = append(a.market.files, e)
	a.archive.content[id] = content
	return e
}

// agent is one account in one era.
type agent struct {
	*agents
	t       testing.TB
	account contracts.AccountID
	modern  bool
}

func (a *agents) agent(account contracts.AccountID) *agent { return &agent{a, a.t, account, true} }

func (a *agents) legacy(account contracts.AccountID) *agent { return &agent{a, a.t, account, false} }

type object = map[string]any

const modernVersion = "2026-07-28"

// send posts a JSON-RPC request of a method.
func (a *agent) send(method string, params object) answer {
	a.t.Helper()
	if params = maps.Clone(params); params == nil {
		params = object{}
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if a.modern {
		params["_meta"] = object{
			"io.modelcontextprotocol/protocolVersion": modernVersion, "io.modelcontextprotocol/clientCapabilities": object{},
			"io.modelcontextprotocol/clientInfo": object{"name": "test", "version": "1"},
		}
		header.Set("MCP-Protocol-Version", modernVersion)
		header.Set("mcp-method", method)
		for _, param := range []string{"name", "uri"} {
			if name, ok := params[param].(string); ok {
				header.Set("mcp-name", name)
			}
		}
	}
	return a.post(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, header)
}

func (a *agent) post(body any, header http.Header) answer {
	a.t.Helper()
	text := must.Get(json.Marshal(body))(a.t)
	issued := must.Get(a.auth.Issue(auth.Grant{Account: a.account, Audience: baseURL + "/mcp", Lifetime: time.Hour, Scopes: []string{"mcp"}, Client: "c", Session: "s"}))(a.t)
	header.Set("Authorization", "Bearer "+issued.Token.Reveal())
	r := must.Get(http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.URL+"/mcp", bytes.NewReader(text)))(a.t)
	r.Header, r.Host = header, "prices.example.test"
	return a.do(r)
}

func (a *agents) do(r *http.Request) answer {
	a.t.Helper()
	resp := must.Get(a.Client().Do(r))(a.t)
	defer resp.Body.Close()
	body := must.Get(io.ReadAll(resp.Body))(a.t)
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// get reads over REST as the same account.
func (a *agent) get(path string) answer {
	a.t.Helper()
	issued, _, err := a.auth.IssueREST(a.account)
	must.Do(a.t, err)
	r := must.Get(http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.URL+path, nil))(a.t)
	r.Header.Set("Authorization", "Bearer "+issued.Token.Reveal())
	return a.do(r)
}

// call uses a tool and checks what must hold for every result.
func (a *agent) call(name string, arguments any) result {
	a.t.Helper()
	answer := a.send("tools/call", object{"name": name, "arguments": arguments})
	var reply struct {
		Result result
		Error  json.RawMessage
	}
	must.Do(a.t, json.Unmarshal([]byte(answer.body), &reply))
	if answer.status != http.StatusOK || reply.Error != nil {
		a.t.Fatalf("%s %v: %d %.500s", name, arguments, answer.status, answer.body)
	}
	reply.Result.t = a.t
	reply.Result.check(name)
	return reply.Result
}

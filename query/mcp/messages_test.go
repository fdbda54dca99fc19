package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// Bodies that are no JSON-RPC messages are refused with 400 and a JSON-RPC
// error: MCP-07, MCP-15, choices 54.
func TestMalformedBodies(t *testing.T) {
	deep := func(n int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", n-2) + strings.Repeat("]", n-2) + `}}`
	}
	const parse, invalid = -32700, -32600
	s := serve(t)
	for name, c := range map[string]struct {
		body string
		code int
		id   string
	}{
		"nothing":                        {"", parse, "null"},
		"blanks":                         {" \n", parse, "null"},
		"half":                           {`{`, parse, "null"},
		"two values":                     {`{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, parse, "null"},
		"trailing comma":                 {`{"jsonrpc":"2.0","id":1,"method":"ping",}`, parse, "null"},
		"invalid UTF-8":                  {"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", parse, "null"},
		"byte order mark":                {"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, parse, "null"},
		"empty object":                   {`{}`, invalid, "null"},
		"empty batch":                    {`[]`, invalid, "null"},
		"text":                           {`"ping"`, invalid, "null"},
		"null":                           {`null`, invalid, "null"},
		"version 1.0":                    {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, invalid, "1"},
		"no version":                     {`{"id":1,"method":"ping"}`, invalid, "1"},
		"version a number":               {`{"jsonrpc":2.0,"id":1,"method":"ping"}`, invalid, "1"},
		"no method":                      {`{"jsonrpc":"2.0","id":1}`, invalid, "1"},
		"empty method":                   {`{"jsonrpc":"2.0","id":1,"method":""}`, invalid, "1"},
		"method a number":                {`{"jsonrpc":"2.0","id":"a","method":1}`, invalid, `"a"`},
		"other case":                     {`{"JSONRPC":"2.0","id":1,"Method":"ping"}`, invalid, "1"},
		"id null":                        {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, invalid, "null"},
		"id a fraction":                  {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, invalid, "null"},
		"id an object":                   {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, invalid, "null"},
		"id true":                        {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, invalid, "null"},
		"params an array":                {`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, invalid, "1"},
		"params null":                    {`{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, invalid, "1"},
		"params a text":                  {`{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`, invalid, "1"},
		"a response":                     {`{"jsonrpc":"2.0","id":1,"result":{}}`, invalid, "1"},
		"an error":                       {`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, invalid, "1"},
		"a request with a result":        {`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, invalid, "1"},
		"member twice":                   {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, invalid, "null"},
		"member twice by another form":   {`{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"ping"}`, invalid, "null"},
		"member twice within":            {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":{"b":1,"c":[],"b":2}}}}`, invalid, "null"},
		"member twice within an array":   {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[1,{"b":1,"b":1}]}}`, invalid, "null"},
		"nested one too deep":            {deep(65), invalid, "null"},
		"nested far too deep":            {strings.Repeat("[", 500_000), parse, "null"},
		"batch with a text":              {`[{"jsonrpc":"2.0","id":1,"method":"ping"},"x"]`, invalid, "null"},
		"batch in a batch":               {`[[{"jsonrpc":"2.0","id":1,"method":"ping"}]]`, invalid, "null"},
		"batch with a response":          {`[{"jsonrpc":"2.0","id":1,"result":{}}]`, invalid, "null"},
		"batch with an id twice":         {`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`, invalid, "null"},
		"batch with a text id twice":     {`[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"\u0061","method":"ping"}]`, invalid, "null"},
		"batch with initialize":          {`[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, invalid, "null"},
		"batch of too many":              {batchOf(101, `"method":"ping"`), invalid, "null"},
		"batch that looks modern":        {`[{"jsonrpc":"2.0","id":1,"method":"server/discover"}]`, invalid, "null"},
		"batch with a modern _meta":      {`[{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}]`, invalid, "null"},
		"batch with a tool and nonsense": {`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}},{}]`, invalid, "null"},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.request(c.body)
			r.t = t
			got := r.send().wantError(t, http.StatusBadRequest, c.code)
			if string(got.ID) != c.id {
				t.Errorf("id %s, want %s", got.ID, c.id)
			}
		})
	}
	equals.Slices(t, nil, s.calls.noted(), "tools ran")
}

// Messages that are unusual but valid are answered.
func TestUnusualBodies(t *testing.T) {
	s := serve(t)
	for name, c := range map[string]struct{ body, id string }{
		"blanks around":            {" \r\n\t" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n", "1"},
		"a member of another time": {`{"jsonrpc":"2.0","id":1,"method":"ping","extension":[]}`, "1"},
		"id negative":              {`{"jsonrpc":"2.0","id":-7,"method":"ping"}`, "-7"},
		"id beyond 64 bits":        {`{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}`, "123456789012345678901234567890"},
		"id beyond 53 bits":        {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, "9007199254740993"},
		"id a long text":           {`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 5000) + `","method":"ping"}`, `"` + strings.Repeat("i", 5000) + `"`},
		"id an empty text":         {`{"jsonrpc":"2.0","id":"","method":"ping"}`, `""`},
		"nested as deep as may be": {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `}}`, "1"},
		"a name twice, not in one": {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1},"c":{"b":"b"},"id":"id"}}`, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.post(c.body)
			a.wantResult(t)
			if got := a.reply(t); string(got.ID) != c.id {
				t.Errorf("id %s, want %s", got.ID, c.id)
			}
		})
	}
}

// batchOf repeats a request with ids from 1 on.
func batchOf(n int, members string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i+1, members)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// Only POST is accepted: choices 54, checklist 32.
func TestMethodsOfHTTP(t *testing.T) {
	s := serve(t)
	for _, method := range []string{"GET", "DELETE", "PUT", "PATCH", "OPTIONS"} {
		r := s.request("")
		r.method = method
		a := r.send()
		if a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "POST" || !strings.Contains(a.body, `"code":"METHOD_NOT_ALLOWED"`) {
			t.Errorf("%s: %d %v %s", method, a.status, a.header, a.body)
		}
	}
}

// MCP-01b, MCP-15: only JSON is accepted, without compression.
func TestContentTypes(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	s := serve(t)
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON"} {
		s.request(ping).with("Content-Type", kind).send().wantResult(t)
	}
	for _, kind := range []string{"text/plain", "application/jsonp", "application/x-www-form-urlencoded", "application/json, text/plain", "", ";"} {
		s.request(ping).with("Content-Type", kind).send().wantError(t, http.StatusBadRequest, -32600)
	}
	s.request(ping).without("Content-Type").send().wantError(t, http.StatusBadRequest, -32600)
	s.request(ping).with("Content-Encoding", "gzip").send().wantError(t, http.StatusBadRequest, -32600)
	for _, accept := range []string{"", "*/*", "application/json", "text/event-stream", "text/html"} {
		s.request(ping).with("Accept", accept).send().wantResult(t)
	}
}

// LIM, choices 32 and 46: a body has at most 1 MiB, and a refusal states both
// sizes.
func TestBodyLimit(t *testing.T) {
	s := serve(t)
	body := func(size int) string {
		const frame = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":""}}`
		return strings.Replace(frame, `""`, `"`+strings.Repeat("x", size-len(frame))+`"`, 1)
	}
	send := func(size, length int64) (answer, error) {
		req := must.Get(http.NewRequest(http.MethodPost, s.URL+"/mcp", strings.NewReader(body(int(size)))))(t)
		req.ContentLength = length
		req.Header, req.Host = s.request("").header, "prices.example.test"
		resp, err := s.Client().Do(req)
		if err != nil {
			return answer{}, err
		}
		text, err := io.ReadAll(resp.Body)
		return answer{resp.StatusCode, resp.Header, string(text)}, errors.Join(err, resp.Body.Close())
	}
	s.post(body(1 << 20)).wantResult(t)
	for _, c := range []struct{ size, length int64 }{{1<<20 + 1, 1<<20 + 1}, {1<<20 + 1, -1}, {1<<20 + 100_000, -1}} { // reading stops after one byte more
		got, err := send(c.size, c.length)
		for try := 1; err != nil && try < 5; try++ { // a client that keeps sending while it is refused may miss the answer (RFC 9112, section 9.6)
			got, err = send(c.size, c.length)
		}
		must.Do(t, err)
		refused := got.wantError(t, http.StatusRequestEntityTooLarge, http.StatusRequestEntityTooLarge)
		want := map[string]any{"actualBytes": float64(1<<20 + 1), "maxBytes": float64(1 << 20)}
		equals.Check(t, want, map[string]any{"actualBytes": refused.Error.Data["actualBytes"], "maxBytes": refused.Error.Data["maxBytes"]})
	}
}

// Whatever is posted, the answer is JSON-RPC and never an internal error.
func FuzzMessages(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `[]`, `[{}]`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"a":[1,{"b":null}]}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"svc://sites/a"}}]`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"greet","arguments":{"who":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`,
	} {
		f.Add(body, "")
		f.Add(body, "2025-11-25")
		f.Add(body, "2026-07-28")
	}
	s := serve(f, func(set *settings) {
		set.throttle = auth.ThrottleDefaults()
		set.throttle.Reads.Requests = 1 << 30
		set.mcp.MaxBodyBytes = 64 << 10
	})
	f.Fuzz(func(t *testing.T, body, version string) {
		if strings.ContainsFunc(version, func(r rune) bool { return r < ' ' || r > '~' }) || strings.Contains(body, `"panics"`) || strings.Contains(body, `"waits"`) {
			t.Skip()
		}
		here := *s
		here.t = t
		r := here.request(body)
		if version != "" {
			r.with("Mcp-Protocol-Version", version)
			var m struct {
				Method string
				Params struct{ Name, URI string }
			}
			if json.Unmarshal([]byte(body), &m) == nil && !strings.ContainsFunc(m.Method+m.Params.Name+m.Params.URI, func(r rune) bool { return r < ' ' || r > '~' }) {
				r.with("Mcp-Method", m.Method).with("Mcp-Name", m.Params.Name+m.Params.URI)
			}
		}
		a := r.send()
		switch {
		case a.status >= 500:
			t.Errorf("%d %s for %q", a.status, a.body, body)
		case a.status == http.StatusAccepted && a.body == "":
		case strings.HasPrefix(a.body, "["):
			a.replies(t)
		default:
			a.reply(t)
		}
	})
}

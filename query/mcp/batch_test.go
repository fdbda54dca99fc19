package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/equals"
	"preismon/query"
	"preismon/query/auth"
)

// MCP-01a, MCP-05, choices 54: a batch is answered in order, in every legacy
// version, without answers to its notifications.
func TestBatch(t *testing.T) {
	s := serve(t)
	body := `[{"jsonrpc":"2.0","id":"z","method":"tools/call","params":{"name":"echo","arguments":{"n":1}}},
		{"jsonrpc":"2.0","method":"notifications/initialized"},
		{"jsonrpc":"2.0","id":1,"method":"no/such"},
		{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"panics"}},
		{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"echo","arguments":{"n":2}}},
		{"jsonrpc":"2.0","method":"tools/call","params":{"name":"missing"}},
		{"jsonrpc":"2.0","id":-1,"method":"tools/call","params":{"name":"disabled"}},
		{"jsonrpc":"2.0","id":12345678901234567890,"method":"resources/list"}]`
	for _, version := range append([]string{""}, legacies...) {
		r := s.request(body)
		if version != "" {
			r.with("MCP-Protocol-Version", version)
		}
		a := r.send()
		all := a.replies(t)
		var ids []string
		for _, one := range all {
			ids = append(ids, string(one.ID))
		}
		if diff := cmp.Diff([]string{`"z"`, `1`, `"1"`, `0`, `-1`, `12345678901234567890`}, ids); diff != "" || a.status != http.StatusOK {
			t.Fatalf("%d %s %s", a.status, diff, a.body)
		}
		if all[1].Error.Code != -32601 || all[2].Result["isError"] != true || all[4].Error.Code != 401 || all[5].Result == nil {
			t.Error(a.body)
		}
		for i, n := range map[int]float64{0: 1, 3: 2} {
			got := all[i].Result["structuredContent"].(map[string]any)["arguments"].(map[string]any)["n"]
			if got != n {
				t.Errorf("response %d answers %v", i, got)
			}
		}
	}
	want := []string{"echo", "panics", "echo", "disabled"}
	equals.Checkf(t, append(append(append(append([]string(nil), want...), want...), want...), want...), s.calls.noted(), "not one after the other")
	if a := s.post(`[` + ping + `]`); !strings.HasPrefix(a.body, "[{") || len(a.replies(t)) != 1 {
		t.Errorf("a batch of one: %s", a.body)
	}
	if all := s.post(batchOf(100, `"method":"ping"`)).replies(t); len(all) != 100 {
		t.Errorf("%d responses", len(all))
	}
}

// Choices 54: the modern era has no batches.
func TestModernBatch(t *testing.T) {
	s := serve(t)
	one := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`
	for _, r := range []*request{
		s.request(`[`+one+`]`).with("MCP-Protocol-Version", modern).with("mcp-method", "tools/list"),
		s.request(`[`+ping+`]`).with("MCP-Protocol-Version", modern),
		s.request(`[`+ping+`]`).with("mcp-method", "ping"),
		s.request(`[`+ping+`]`).with("mcp-name", "echo"),
		s.request(`[{"jsonrpc":"2.0","method":"notifications/cancelled"}]`).with("MCP-Protocol-Version", modern),
		s.request(`[` + one + `]`),
	} {
		r.send().wantError(t, http.StatusBadRequest, -32600)
	}
}

const mebibyte = 1 << 20

// small limits the answers of a surface to 2 MiB.
func small(set *settings) {
	set.mcp.MaxResponseBytes, set.mcp.MaxBodyBytes, set.unchecked = 2*mebibyte, 64<<10, true
	set.throttle = auth.ThrottleDefaults()
	set.throttle.Reads.Requests = 1 << 30
}

func call(id any, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// LIM-02a: a response that just fits is sent; with one byte more it is
// RESPONSE_TOO_LARGE.
func TestResponseLimit(t *testing.T) {
	s := serve(t, small)
	ids := []string{"1", `"` + strings.Repeat("i", 40_000) + `"`}
	for _, id := range ids {
		for _, modernEra := range []bool{false, true} {
			send := func(tool, arguments string) answer {
				r := s.request(call(id, tool, arguments))
				if modernEra {
					r = s.modern("tools/call", tool, `"name":"`+tool+`","arguments":`+arguments)
					r.body = strings.Replace(r.body, `"id":1`, `"id":`+id, 1)
				}
				return r.send()
			}
			a := send("fill", `{"all":true}`)
			if got := a.wantResult(t); got["isError"] != nil || len(a.body) > 2*mebibyte || len(a.body) < 2*mebibyte-300 {
				t.Errorf("%d bytes", len(a.body))
			}
			a = send("fill", `{"all":true,"more":2}`)
			wantProblem(t, a.wantResult(t), 400, "RESPONSE_TOO_LARGE")
			a = send("fill", `{"bytes":9000000}`)
			wantProblem(t, a.wantResult(t), 400, "RESPONSE_TOO_LARGE")
		}
	}
}

// LIM-02a, LIM-02b: results other than those of tools have the same limit.
func TestResourceTooLarge(t *testing.T) {
	s := serve(t, small, func(set *settings) {
		set.catalogue.Resources[0].Read = huge
		set.catalogue.Prompts[0].Text = hugePrompt
	})
	for r, status := range map[*request]int{
		s.legacy("resources/read", `"uri":"svc://guide"`):                   http.StatusOK,
		s.modern("resources/read", "svc://guide", `"uri":"svc://guide"`):    http.StatusBadRequest,
		s.legacy("prompts/get", `"name":"greet","arguments":{"who":"you"}`): http.StatusOK,
	} {
		got := r.send().wantError(t, status, -32602)
		if got.Error.Data["code"] != "RESPONSE_TOO_LARGE" {
			t.Error(got)
		}
	}
}

// LIM-02a, LIM-02b: the limit is exact to the byte, including everything around
// and between responses.
func TestLimitToTheByte(t *testing.T) {
	size := 0
	s := serve(t, small, func(set *settings) {
		set.catalogue.Resources[0].Read = func(context.Context, query.Principal, string) ([]byte, error) {
			return bytes.Repeat([]byte("x"), size), nil
		}
	})
	const read, again = `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"svc://guide"}}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	for _, body := range []string{read, "[" + read + "]", "[" + again + "," + read + "]"} {
		size = 1
		most := 2*mebibyte - len(s.post(body).body) + 1
		size = most
		if a := s.post(body); len(a.body) != 2*mebibyte || strings.Contains(a.body, "RESPONSE_TOO_LARGE") {
			t.Errorf("%s: %d bytes: %.200s", body, len(a.body), a.body)
		}
		size = most + 1
		if a := s.post(body); !strings.Contains(a.body, "RESPONSE_TOO_LARGE") {
			t.Errorf("%s: %d bytes", body, len(a.body))
		}
	}
}

// LIM-02b, LIM-D2, LIM-D4: a batch has one budget. What no longer fits is
// refused, and everything else is there.
func TestBatchBudget(t *testing.T) {
	s := serve(t, small)
	fill := func(bytes int) string { return fmt.Sprintf(`{"bytes":%d}`, bytes) }
	batch := "[" + strings.Join([]string{
		call(1, "fill", fill(mebibyte)), call(2, "fill", fill(3*mebibyte/2)), call(3, "echo", `{"n":1}`), call(4, "download", `{"bytes":400000}`),
		call(5, "fill", fill(mebibyte/2)), call(6, "download", `{"bytes":1000}`), call(7, "fill", `{"all":true}`), call(8, "echo", `{"n":"`+strings.Repeat("n", 5000)+`"}`), call(9, "missing", `{}`),
	}, ",") + "]"
	a := s.post(batch)
	all := a.replies(t)
	if len(a.body) > 2*mebibyte || a.status != http.StatusOK || len(all) != 9 {
		t.Fatalf("%d bytes, status %d, %d responses", len(a.body), a.status, len(all))
	}
	for i, code := range map[int]string{1: "RESPONSE_TOO_LARGE", 3: "PAYLOAD_TOO_LARGE"} {
		status := map[string]int{"RESPONSE_TOO_LARGE": 400, "PAYLOAD_TOO_LARGE": 413}[code]
		problem := wantProblem(t, all[i].Result, status, code)
		if actual, most := problem["actualBytes"], problem["maxBytes"]; i == 3 && (actual != float64(400_000) || most == nil) {
			t.Errorf("sizes %v and %v", actual, most)
		}
	}
	for _, i := range []int{0, 2, 4, 5, 6} {
		if all[i].Result["isError"] != nil {
			t.Errorf("response %d: %v", i+1, all[i].Result["structuredContent"])
		}
	}
	wantProblem(t, all[7].Result, 400, "RESPONSE_TOO_LARGE") // there is little more room left than this answer needs
	wantProblem(t, all[8].Result, 404, "ORDER_NOT_FOUND")
	if len(a.body) < 2*mebibyte-2000 {
		t.Errorf("only %d bytes", len(a.body))
	}
}

// LIM-02b: even a full batch in which each call takes all it can stays within
// the limit, and each call has an answer.
func TestFullBatchKeepsToTheLimit(t *testing.T) {
	s := serve(t, small, func(set *settings) { set.catalogue.Tools[0].Descriptor.Description = strings.Repeat("d", 200_000) })
	calls := make([]string, 100)
	for i := range calls {
		id := fmt.Sprintf(`"%d%s"`, i, strings.Repeat("i", i))
		switch i % 4 {
		case 0:
			calls[i] = call(id, "fill", `{"bytes":100000}`)
		case 1:
			calls[i] = call(id, "verbose", `{}`)
		case 2:
			calls[i] = `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list"}`
		default:
			calls[i] = call(id, "download", `{"more":0}`)
		}
	}
	calls[0] = call(`"0"`, "fill", `{"all":true}`)
	a := s.post("[" + strings.Join(calls, ",") + "]")
	all := a.replies(t)
	if len(all) != 100 || len(a.body) > 2*mebibyte || a.status != http.StatusOK {
		t.Fatalf("%d responses, %d bytes, status %d", len(all), len(a.body), a.status)
	}
	if all[0].Result["isError"] != nil {
		t.Error("the first is not let in")
	}
	for i, r := range all[1:] {
		if id := fmt.Sprintf(`"%d%s"`, i+1, strings.Repeat("i", i+1)); string(r.ID) != id {
			t.Fatalf("response %d has id %s", i+1, r.ID)
		}
		code := ""
		if r.Error != nil && (i+1)%4 != 2 {
			t.Fatalf("response %d of a tool: %v", i+1, r.Error)
		}
		if r.Error != nil {
			code, _ = r.Error.Data["code"].(string)
		} else if problem, ok := r.Result["structuredContent"].(map[string]any); ok && r.Result["isError"] == true {
			code, _ = problem["code"].(string)
		}
		if code != "RESPONSE_TOO_LARGE" && code != "PAYLOAD_TOO_LARGE" {
			t.Fatalf("response %d: %v %v", i+1, r.Result, r.Error)
		}
	}
}

// A tool that returns an invalid result does not break the answer.
func TestResultOfATool(t *testing.T) {
	for _, object := range []string{"", "[]", "{\n}", "null", "{\"a\":\t1}"} {
		s := serve(t, func(set *settings) { set.catalogue.Tools[0].Run = gives(object) })
		wantProblem(t, s.legacy("tools/call", `"name":"echo"`).send().wantResult(t), 500, "INTERNAL_ERROR")
		if !strings.Contains(s.log.String(), "compact") {
			t.Error("not logged")
		}
	}
}

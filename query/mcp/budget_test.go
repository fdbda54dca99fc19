package mcp_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"preismon/deploy/testserver/must"
	"preismon/query/mcp"
)

// LIM-D1, LIM-D3: MaxRaw is the largest file whose cost fits, at every edge.
func TestMaxRaw(t *testing.T) {
	const reserve = 64 << 10
	for left, want := range map[int]int64{
		-1: -1, 0: -1, reserve - 1: -1, reserve: 0, reserve + 7: 0, reserve + 8: 3, reserve + 15: 3, reserve + 16: 6,
		64 << 20: 25_141_248,
	} {
		if got := mcp.BudgetOf(left).MaxRaw(); got != want {
			t.Errorf("%d bytes left: a file of %d, want %d", left, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b := mcp.BudgetOf(rapid.IntRange(reserve, 1<<40).Draw(t, "left"))
		n := b.MaxRaw()
		if mcp.DownloadCost(n) > int64(b.Remaining()) {
			t.Errorf("%d does not fit %d", n, b.Remaining())
		}
		if mcp.DownloadCost(n+1) <= int64(b.Remaining()) {
			t.Errorf("%d fits %d too", n+1, b.Remaining())
		}
	})
}

// The formula counts base64 as files are really encoded.
func TestDownloadCost(t *testing.T) {
	for n := range int64(10) {
		if got, want := mcp.DownloadCost(n)-mcp.DownloadCost(0), int64(2*base64.StdEncoding.EncodedLen(int(n))); got != want {
			t.Errorf("%d bytes: %d, want %d", n, got, want)
		}
	}
}

// Cost is exactly what an object takes in a real answer.
func TestCost(t *testing.T) {
	s := serve(t)
	empty := len(s.post(call(1, "echo", `{}`)).body) - mcp.Cost([]byte(`{"account":"7","arguments":{}}`))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 200, -1).Draw(t, "text")
		arguments := must.Get(json.Marshal(map[string]any{text: []any{text, `"\`, 1.5, nil}}))(t)
		a := s.post(call(1, "echo", string(arguments)))
		object := []byte(`{"account":"7","arguments":` + string(arguments) + `}`)
		if got := len(a.body) - empty; got != mcp.Cost(object) || !strings.Contains(a.body, string(object)) {
			t.Errorf("%d bytes, want %d: %s", got, mcp.Cost(object), a.body)
		}
	})
}

// LIM-D1, LIM-D2: a real download of the largest size is answered in full,
// whatever its names, alone and within a batch; with one byte more it is
// PAYLOAD_TOO_LARGE with both sizes.
func TestDownloads(t *testing.T) {
	s := serve(t, small)
	names := []string{"a.csv", strings.Repeat(`"`, 255), strings.Repeat(`\u0001`, 255), strings.Repeat("ü", 127), strings.Repeat(`<`, 255)}
	for i, name := range names {
		if i != 2 {
			quoted := must.Get(json.Marshal(name))(t)
			name = string(quoted[1 : len(quoted)-1])
		}
		for _, id := range []string{"1", `"` + strings.Repeat("i", 9_999) + `"`} {
			fits := call(id, "download", fmt.Sprintf(`{"name":"%s","more":0}`, name))
			a := s.post(fits)
			if got := a.wantResult(t); got["isError"] != nil || len(a.body) > 2*mebibyte || len(a.body) < 2*mebibyte-70_000 {
				t.Errorf("%q: %d bytes: %.200s", name, len(a.body), a.body)
			}
			over := call(2, "download", fmt.Sprintf(`{"name":"%s","more":1}`, name))
			problem := wantProblem(t, s.post(over).wantResult(t), 413, "PAYLOAD_TOO_LARGE")
			if problem["actualBytes"].(float64) != problem["maxBytes"].(float64)+1 {
				t.Errorf("sizes %v and %v", problem["actualBytes"], problem["maxBytes"])
			}
			a = s.post(`[` + call(0, "fill", `{"bytes":777777}`) + `,` + over + `,` + fits + `,` + call(9, "echo", `{}`) + `]`)
			all := a.replies(t)
			wantProblem(t, all[1].Result, 413, "PAYLOAD_TOO_LARGE")
			if len(a.body) > 2*mebibyte || all[0].Result["isError"] != nil || all[2].Result["isError"] != nil || all[3].Result["isError"] != nil {
				t.Errorf("%q: %d bytes", name, len(a.body))
			}
		}
	}
}

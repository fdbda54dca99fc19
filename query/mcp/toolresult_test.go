package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// result is what a tool returns.
type result struct {
	t       testing.TB
	IsError bool
	Content []struct{ Type, Text, URI string }
	// StructuredContent unchanged.
	Structured json.RawMessage `json:"structuredContent"`
}

// check checks what holds for all results: the text is the structured content,
// complete on its own, and matches the tool's schema (choices 52).
func (r result) check(name string) {
	r.t.Helper()
	if len(r.Content) == 2 && r.Content[1].Type == "resource_link" && r.Content[1].URI == r.members()["link"] {
		r.Content = r.Content[:1] // the link is repeated here
	}
	if len(r.Content) != 1 || r.Content[0].Type != "text" || r.Content[0].Text != string(r.Structured) {
		r.t.Errorf("%s: the text is not the structured content: %.300v", name, r.Content)
	}
	var compact bytes.Buffer
	must.Do(r.t, json.Compact(&compact, r.Structured))
	if compact.Len() != len(r.Structured) {
		r.t.Errorf("%s: not minified: %.300s", name, r.Structured)
	}
	schema := "problem"
	if !r.IsError {
		schema = name
		if !strings.HasPrefix(string(r.Structured), `{"summary":{`) {
			r.t.Errorf("%s does not begin with its summary: %.100s", name, r.Structured)
		}
		if rest := string(r.Structured); strings.Index(rest, `,"completeness":{`) > strings.Index(rest, `,"data":[`) && strings.Contains(rest, `,"data":[`) {
			r.t.Errorf("%s: completeness comes after the data", name)
		}
	}
	validate(r.t, schema, r.Structured)
}

// ok returns the members of a result that is no error.
func (r result) ok() object {
	r.t.Helper()
	if r.IsError {
		r.t.Fatalf("a tool error: %s", r.Structured)
	}
	return r.members()
}

func (r result) members() object {
	var all object
	must.Do(r.t, json.Unmarshal(r.Structured, &all))
	return all
}

// failed returns the problem of a result that is an error with this code.
func (r result) failed(code string) toolProblem {
	r.t.Helper()
	var p toolProblem
	must.Do(r.t, json.Unmarshal(r.Structured, &p))
	if !r.IsError || p.Code != code {
		r.t.Fatalf("isError %t and %.500s, want %s", r.IsError, r.Structured, code)
	}
	return p
}

type toolProblem struct {
	Code, Detail          string
	Status                int
	ActualBytes, MaxBytes *int64
	Recovery              *struct {
		Guidance          string
		RetryAfterSeconds int
		Attempts          []object
	}
}

// at descends by names and numbers.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(object)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		default:
			panic(fmt.Sprint("at: ", step))
		}
	}
	return v
}

func list(v any, path ...any) []any {
	all, _ := at(v, path...).([]any)
	return all
}

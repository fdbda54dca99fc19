package mcp_test

import (
	"bytes"
	"encoding/json"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/must"
)

// descriptor is a tool as tools/list shows it.
type descriptor struct {
	Name, Title, Description string
	InputSchema              json.RawMessage
	OutputSchema             json.RawMessage
}

func (a *agent) tools() []descriptor {
	a.t.Helper()
	var reply struct {
		Result struct {
			Tools      []descriptor
			NextCursor string
		}
	}
	must.Do(a.t, json.Unmarshal([]byte(a.send("tools/list", nil).body), &reply))
	if reply.Result.NextCursor != "" {
		a.t.Error("tools/list has pages")
	}
	return reply.Result.Tools
}

// published are the output schemas of all tools, as tools/list returns them,
// and that of a failure.
var published struct {
	sync.Mutex
	compiled map[string]*jsonschema.Schema
}

// validate checks a result against the output schema of its tool (MCP-12b).
func validate(t testing.TB, name string, value []byte) {
	t.Helper()
	published.Lock()
	defer published.Unlock()
	if published.compiled == nil {
		published.compiled = map[string]*jsonschema.Schema{"problem": compile(t, problemSchema)}
		for _, d := range newAgents(t, newMarket()).agent(whole).tools() {
			published.compiled[d.Name] = compile(t, d.OutputSchema)
		}
	}
	schema := published.compiled[name]
	if schema == nil {
		t.Fatalf("no schema of %s", name)
	}
	parsed := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(value)))(t)
	if err := schema.Validate(parsed); err != nil {
		t.Errorf("%s: %v\n%.500s", name, err, value)
	}
}

func compile(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	parsed := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(schema)))(t)
	c := jsonschema.NewCompiler()
	must.Do(t, c.AddResource("schema.json", parsed))
	compiled := must.Get(c.Compile("schema.json"))(t)
	return compiled
}

// problemSchema is the problem of the contract with a recovery.
var problemSchema = []byte(`{"type":"object","required":["type","title","status","detail","code"],"additionalProperties":false,"properties":{
	"type":{"type":"string"},"title":{"type":"string"},"status":{"type":"integer"},"detail":{"type":"string","minLength":1},"code":{"type":"string"},
	"actualBytes":{"type":"integer"},"maxBytes":{"type":"integer"},
	"recovery":{"type":"object","required":["guidance"],"additionalProperties":false,"properties":{
		"guidance":{"type":"string","minLength":1},"retryAfterSeconds":{"type":"integer","minimum":1},"attempts":{"type":"array","minItems":1,"items":{"type":"object"}}}}}}`)

func parametersOf(t testing.TB, operation string) map[string]openapi.Schema {
	t.Helper()
	all := must.Get(openapi.Parameters(operation))(t)
	by := map[string]openapi.Schema{}
	for _, p := range all {
		by[p.Name] = p.Schema
	}
	return by
}

package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/query"
)

// catalogue is what the surface offers, the same to every caller.
type catalogue struct {
	Instructions string
	Tools        []Tool
	Prompts      []Prompt
	Resources    []Resource
}

// Tool is one tool. Every tool only reads, so annotations are not set one by
// one.
type Tool struct {
	Descriptor sdk.Tool // without annotations; with an output schema
	Heavy      bool     // its calls are bounded as heavy reads of the account
	Run        func(ctx context.Context, c Call) (Result, error)
}

// Call is one call of a tool.
type Call struct {
	Principal   query.Principal
	Arguments   json.RawMessage // one JSON object; {} when there are none
	Fields      []string        // of the records, as a table; nil: all, as records
	wrongFields string          // what is wrong with them; empty: nothing
	Budget      Budget
	BaseURL     string // where clients reach the service
}

// Result is what a tool returns: one JSON object, compact and valid. It is
// shown as structured content and as text. An error in its place becomes a
// problem object; Failed marks a failure whose object holds more than that.
type Result struct {
	Object json.RawMessage
	Failed bool
	Link   *sdk.ResourceLink // to more of it; nil: none
}

// Prompt is one prompt. Its text is one message of the user.
type Prompt struct {
	Descriptor sdk.Prompt
	Text       func(ctx context.Context, p query.Principal, arguments map[string]string) (string, error)
}

// Resource is one resource or, with a Template, a family of them.
type Resource struct {
	Descriptor sdk.Resource
	Template   *sdk.ResourceTemplate // in place of Descriptor
	Unlisted   bool                  // it is in no list: answers link to it, or texts name it
	Heavy      bool                  // its reads are bounded as heavy reads of the account
	// Read returns the text of the resource, in the MIME type of its descriptor
	// and without control characters, which JSON escapes. For a template it is
	// called with every URI that matches.
	Read func(ctx context.Context, p query.Principal, uri string) ([]byte, error)
}

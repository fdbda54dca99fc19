package mcp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/mcp"
)

// calls records the calls of tools.
type calls struct {
	mu    sync.Mutex
	names []string
	began chan struct{}
	left  chan error
}

func (c *calls) note(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = append(c.names, name)
}

func (c *calls) noted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.names...)
}

// catalogue offers an echo of the arguments, files of any size, and ways to
// fail.
func (c *calls) catalogue() mcp.Catalogue {
	tool := func(name string, run func(ctx context.Context, call mcp.Call) (mcp.Result, error)) mcp.Tool {
		return mcp.Tool{
			Descriptor: sdk.Tool{
				Name: name, Description: "A tool of tests.", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"object"}`),
			},
			Run: func(ctx context.Context, call mcp.Call) (mcp.Result, error) {
				c.note(name)
				return run(ctx, call)
			},
		}
	}
	fails := func(err error) func(context.Context, mcp.Call) (mcp.Result, error) {
		return func(context.Context, mcp.Call) (mcp.Result, error) { return mcp.Result{}, err }
	}
	return mcp.Catalogue{
		Instructions: "Read before you ask.",
		Tools: []mcp.Tool{
			tool("echo", func(_ context.Context, call mcp.Call) (mcp.Result, error) {
				return mcp.Result{Object: []byte(`{"account":"` + call.Principal.Account.String() + `","arguments":` + string(call.Arguments) + `}`)}, nil
			}),
			tool("fill", fill),
			tool("download", download),
			tool("broad", func(context.Context, mcp.Call) (mcp.Result, error) {
				return mcp.Result{Object: []byte(`{"code":"RESULTS_SCOPE_TOO_BROAD","recovery":{"attempts":[{"site":"a"}]}}`), Failed: true}, nil
			}),
			tool("missing", fails(fault.New(fault.NotFound, query.CodeOrderNotFound, "There is no such order."))),
			tool("broken", fails(errors.New("secret: the table is gone"))),
			tool("disabled", fails(fault.New(fault.Unauthenticated, query.CodeTokenInvalid, "The access token is missing, expired, malformed or revoked."))),
			tool("verbose", fails(fault.New(fault.Invalid, query.CodeValidation, "%s", strings.Repeat("No. ", 20_000)))),
			tool("away", fails(&fault.Error{Kind: fault.Unavailable, Err: errors.New("secret: server away"), RetryAfter: time.Second})),
			tool("panics", func(context.Context, mcp.Call) (mcp.Result, error) { panic("secret: index out of range") }),
			tool("waits", func(ctx context.Context, _ mcp.Call) (mcp.Result, error) {
				c.began <- struct{}{}
				<-ctx.Done()
				c.left <- ctx.Err()
				return mcp.Result{}, ctx.Err()
			}),
		},
		Prompts: []mcp.Prompt{{
			Descriptor: sdk.Prompt{Name: "greet", Description: "A prompt of tests.", Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}}},
			Text: func(_ context.Context, _ query.Principal, arguments map[string]string) (string, error) {
				if arguments["who"] == "" {
					return "", fault.New(fault.Invalid, query.CodeValidation, "who: missing.")
				}
				if arguments["who"] == "panic" {
					panic("secret: a prompt")
				}
				return "Hello " + arguments["who"] + " <&>", nil
			},
		}},
		Resources: []mcp.Resource{
			{
				Descriptor: sdk.Resource{URI: "svc://guide", Name: "guide", MIMEType: "text/plain"},
				Read:       func(context.Context, query.Principal, string) ([]byte, error) { return []byte("Guide."), nil },
			},
			{
				Template: &sdk.ResourceTemplate{URITemplate: "svc://sites/{site}", Name: "site", MIMEType: "application/json"},
				Read: func(_ context.Context, _ query.Principal, uri string) ([]byte, error) {
					if strings.HasSuffix(uri, "/none") {
						return nil, fault.New(fault.NotFound, "", "There is no such site.")
					}
					return []byte(`{"uri":"` + uri + `"}`), nil
				},
			},
		},
	}
}

// fill returns a result that costs the requested number of bytes, or one less.
func fill(_ context.Context, call mcp.Call) (mcp.Result, error) {
	var asked struct {
		Bytes int  `json:"bytes"`
		All   bool `json:"all"`
		More  int  `json:"more"`
	}
	if err := json.Unmarshal(call.Arguments, &asked); err != nil {
		return mcp.Result{}, err
	}
	if asked.All {
		asked.Bytes = call.Budget.Remaining() + asked.More
	}
	// Each y costs two bytes.
	n := (asked.Bytes - mcp.Cost([]byte(`{"x":""}`))) / 2
	object := `{"x":"` + strings.Repeat("y", n) + `"}`
	return mcp.Result{Object: []byte(object)}, nil
}

// download returns a file of the requested size, as the tools for files do.
func download(_ context.Context, call mcp.Call) (mcp.Result, error) {
	var asked struct {
		Bytes *int64 `json:"bytes"`
		More  int64  `json:"more"`
		Name  string `json:"name"`
	}
	if err := json.Unmarshal(call.Arguments, &asked); err != nil {
		return mcp.Result{}, err
	}
	most := call.Budget.MaxRaw()
	size := max(0, most+asked.More)
	if asked.Bytes != nil {
		size = *asked.Bytes
	}
	if size > most {
		return mcp.Result{}, &fault.Error{
			Kind: fault.TooLarge, Code: query.CodePayloadTooLarge, Msg: "The file does not fit.", ActualBytes: size, MaxBytes: max(0, most),
		}
	}
	object, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"name": asked.Name, "exportName": asked.Name, "filename": asked.Name, "contentType": "application/octet-stream",
			"sizeBytes": size, "archivedAt": "2026-11-21T14:00:00.000Z",
		},
		"contentType": "application/octet-stream", "sizeBytes": size, "encoding": "base64",
		"data": base64.StdEncoding.EncodeToString(make([]byte, size)),
	})
	return mcp.Result{Object: object}, err
}

func huge(context.Context, query.Principal, string) ([]byte, error) {
	return bytes.Repeat([]byte("x"), 2*mebibyte), nil
}

func hugePrompt(context.Context, query.Principal, map[string]string) (string, error) {
	return strings.Repeat("x", 2*mebibyte), nil
}

func gives(object string) func(context.Context, mcp.Call) (mcp.Result, error) {
	return func(context.Context, mcp.Call) (mcp.Result, error) { return mcp.Result{Object: []byte(object)}, nil }
}

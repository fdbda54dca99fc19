package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/contracts/fault"
	"preismon/query"
)

// serverName is the name of the server, reported with its build (MCP-13).
const serverName = "preismon"

// listTTL is how long clients may cache what is the same for all callers, in
// milliseconds. A new build may change it.
const listTTL = 5 * 60 * 1000

// profiles builds a server for each era. They offer the same; the legacy one
// describes less of it (MCP-12c).
func (h *handler) profiles(c catalogue) (legacy, modern *sdk.Server) {
	return h.profile(c, versions[1:], describeLegacy), h.profile(c, versions, describeModern)
}

func (h *handler) profile(c catalogue, versions []string, describe func(sdk.Tool) *sdk.Tool) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: serverName, Version: h.cfg.Build}, &sdk.ServerOptions{
		Instructions: c.Instructions,
		// What is offered never changes while the program runs.
		Capabilities: &sdk.ServerCapabilities{
			Tools: &sdk.ToolCapabilities{}, Prompts: &sdk.PromptCapabilities{}, Resources: &sdk.ResourceCapabilities{},
		},
		SupportedProtocolVersions: versions,
		SetCacheable:              setCacheable,
	})
	s.AddReceivingMiddleware(unlisting(c.Resources), addressing, h.recovered)
	for _, t := range c.Tools {
		s.AddTool(describe(t.Descriptor), h.runs(t))
	}
	for _, p := range c.Prompts {
		s.AddPrompt(&p.Descriptor, h.prompts(p))
	}
	for _, r := range c.Resources {
		if r.Template != nil {
			s.AddResourceTemplate(r.Template, h.reads(r, r.Template.MIMEType))
			continue
		}
		s.AddResource(&r.Descriptor, h.reads(r, r.Descriptor.MIMEType))
	}
	return s
}

func describeLegacy(t sdk.Tool) *sdk.Tool {
	t.Annotations, t.OutputSchema = nil, nil
	return &t
}

// describeModern adds what applies to every tool (MCP-12a).
func describeModern(t sdk.Tool) *sdk.Tool {
	t.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: new(bool), OpenWorldHint: new(bool)}
	return &t
}

// setCacheable sets who may cache what is read: a resource belongs to the
// caller, and everything else is the same for all callers.
func setCacheable(_ context.Context, r sdk.Request, c *sdk.Cacheable) {
	if _, own := r.(*sdk.ReadResourceRequest); own {
		c.CacheScope, c.TTLMs = "private", 0
		return
	}
	c.CacheScope, c.TTLMs = "public", listTTL
}

// runs answers calls of a tool. The result bypasses the SDK, which would copy
// it several times; the SDK supplies what surrounds it.
func (h *handler) runs(t Tool) sdk.ToolHandler {
	return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		x := exchangeOf(ctx)
		if x.failure == nil {
			x.result, x.failure = h.observed(ctx, x, t, r.Params.Arguments)
		}
		return &sdk.CallToolResult{}, nil
	}
}

func (h *handler) run(ctx context.Context, x *exchange, t Tool, arguments json.RawMessage) (Result, error) {
	switch {
	case len(arguments) == 0 || string(arguments) == "null":
		arguments = json.RawMessage("{}")
	case arguments[0] != '{':
		return Result{}, fault.New(fault.Invalid, "", "The arguments are not one JSON object.")
	}
	if t.Heavy {
		release, err := h.throttle.Heavy(x.principal.Account)
		if err != nil {
			return Result{}, h.node.Explained(err, x.principal.Account)
		}
		defer release()
	}
	r, err := t.Run(ctx, Call{Principal: x.principal, Arguments: arguments, Budget: x.budget, BaseURL: h.cfg.BaseURL})
	switch {
	case err != nil:
		return Result{}, err
	case !compact(r.Object):
		return Result{}, errors.New("the result is not one compact JSON object")
	case !x.budget.Fits(r.Object) || len(r.linkBlock()) > x.budget.Remaining()-Cost(r.Object):
		return Result{}, h.tooLarge(Cost(r.Object), x.budget.Remaining())
	}
	return r, nil
}

// compact reports whether a text can be one compact JSON object: it begins like
// one and has no control characters. The tool guarantees the rest.
func compact(object []byte) bool {
	return len(object) > 0 && object[0] == '{' && !controlled(object)
}

// controlled reports whether a text has control characters, which JSON escapes.
func controlled(text []byte) bool {
	return slices.ContainsFunc(text, func(c byte) bool { return c < ' ' })
}

func (h *handler) prompts(p Prompt) sdk.PromptHandler {
	return func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		x := exchangeOf(ctx)
		text, err := p.Text(ctx, x.principal, r.Params.Arguments)
		if err != nil {
			x.failure = err
			return nil, err
		}
		return &sdk.GetPromptResult{
			Description: p.Descriptor.Description,
			Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}},
		}, nil
	}
}

// reads answers reads of a resource. Its text bypasses the SDK, like the result
// of a tool.
func (h *handler) reads(resource Resource, mime string) sdk.ResourceHandler {
	return func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		x := exchangeOf(ctx)
		x.contents.uri, x.contents.mime = r.Params.URI, mime
		if x.contents.text, x.failure = h.readResource(ctx, x, resource, r.Params.URI); x.failure != nil {
			return nil, x.failure
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{}}, nil
	}
}

func (h *handler) readResource(ctx context.Context, x *exchange, resource Resource, uri string) ([]byte, error) {
	if resource.Heavy {
		release, err := h.throttle.Heavy(x.principal.Account)
		if err != nil {
			return nil, h.node.Explained(err, x.principal.Account)
		}
		defer release()
	}
	text, err := resource.Read(ctx, x.principal, uri)
	if err == nil && controlled(text) {
		err = errors.New("the text of the resource has control characters")
	}
	return text, err
}

// unlisting omits from the list the templates that only answers link to.
func unlisting(resources []Resource) sdk.Middleware {
	unlisted := map[string]bool{}
	for _, r := range resources {
		if r.Unlisted {
			unlisted[r.Template.URITemplate] = true
		}
	}
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			result, err := next(ctx, method, r)
			if all, ok := result.(*sdk.ListResourceTemplatesResult); ok && err == nil {
				all.ResourceTemplates = slices.DeleteFunc(all.ResourceTemplates, func(t *sdk.ResourceTemplate) bool { return unlisted[t.URITemplate] })
			}
			return result, err
		}
	}
}

// address matches a URI with all else percent-encoded, as templates need it.
var address = regexp.MustCompile(`^([-\w.~:/?#\[\]@!$&'()*+,;=]|%[[:xdigit:]]{2})*$`)

// addressing refuses reads of what is no URI, which the SDK would report as
// something that does not exist.
func addressing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if read, ok := r.(*sdk.ReadResourceRequest); ok && !address.MatchString(read.Params.URI) {
			x := exchangeOf(ctx)
			x.failure = fault.New(fault.Invalid, query.CodeValidation, "uri: a character is not percent-encoded (a space is %%20), or a percent-encoding is wrong.")
			return nil, x.failure
		}
		return next(ctx, method, r)
	}
}

// recovered turns a panic into a failure of that one request: the SDK would end
// the program.
func (h *handler) recovered(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (result sdk.Result, err error) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			x := exchangeOf(ctx)
			h.logPanic(x, x.operation, v)
			x.failure = errPanicked
			if result, err = nil, errPanicked; method == "tools/call" {
				result, err = &sdk.CallToolResult{Content: []sdk.Content{}}, nil
			}
		}()
		return next(ctx, method, r)
	}
}

// errPanicked stands for a panic that is already logged.
var errPanicked = &fault.Error{Kind: fault.Internal, Err: errors.New("panicked")}

// statusIn returns the HTTP status of an error in a response. Only the modern
// era shows some of them in HTTP too.
func statusIn(version string, code int64) int {
	if version != modernVersion {
		return http.StatusOK
	}
	switch code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, sdk.CodeUnsupportedProtocolVersion, sdk.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// modernMembers are members that the SDK adds to results of every era.
var modernMembers = []string{"resultType", "ttlMs", "cacheScope"}

// profiled returns the members of a result that its era knows.
func profiled(version string, result json.RawMessage) map[string]json.RawMessage {
	all := members(result)
	if version != modernVersion {
		for _, name := range modernMembers {
			delete(all, name)
		}
		return all
	}
	if tools, ok := all["tools"]; ok {
		all["tools"] = withoutIdempotence(tools)
	}
	return all
}

// withoutIdempotence removes a hint that the SDK gives every tool with
// annotations. It means nothing for a tool that only reads (MCP-12a).
func withoutIdempotence(tools json.RawMessage) json.RawMessage {
	var all []map[string]json.RawMessage
	if json.Unmarshal(tools, &all) != nil {
		return tools
	}
	for _, t := range all {
		hints := members(t["annotations"])
		delete(hints, "idempotentHint")
		t["annotations"] = marshal(hints)
	}
	return marshal(all)
}

// others returns the members of the result of a tool, or of a resource, apart
// from the result itself.
func others(version string, result json.RawMessage) map[string]json.RawMessage {
	all := profiled(version, result)
	for _, ours := range []string{"content", "structuredContent", "isError", "contents"} {
		delete(all, ours)
	}
	return all
}

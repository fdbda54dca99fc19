package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"preismon/deploy/testserver/tools"
)

// inspector: the command line of the MCP Inspector, in both eras. Its first
// call registers it and logs its person in; later calls use the tokens that it
// kept.
func (c *clientsTest) inspector(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			i := inspectorRun{t, c, era, t.TempDir()}
			c.checkSites(t, i.login("list_sites"))
			i.lists().check(t)
			c.checkSites(t, i.tool("list_sites"))
			c.checkSites(t, i.resource("svc://reference/sites"))                                       // RSRC-01, MCP-10e
			if text := i.prompt("analyze-market-price-position", "candidatePrice=19.99"); text == "" { // PROM-02, MCP-10d
				t.Error("the prompt is empty")
			}
		})
	}
}

type inspectorRun struct {
	t    *testing.T
	c    *clientsTest
	era  string
	home string
}

// login calls a tool without a token and returns the text of its result
// (OAUTH-01a to OAUTH-03c). The Inspector prints the address that its person
// must open.
func (i inspectorRun) login(tool string) string {
	i.t.Helper()
	redirect := "http://" + freeAddress(i.t) + "/oauth/callback"
	var way walked
	var person sync.WaitGroup
	opens := &lines{each: func(line string) {
		if address, found := strings.CutPrefix(line, "Please navigate to: "); found {
			person.Go(func() {
				i.c.script(i.t, "person-main.mjs", map[string]any{"url": address, "redirect": redirect}, &way)
			})
		}
	}}
	text := i.toolBy(opens, tool, "--callback-url", redirect)
	person.Wait()
	checkPages(i.t, way.Pages, "MCP Inspector")
	return text
}

// ask calls one method and reads its result.
func (i inspectorRun) ask(result any, method string, args ...string) {
	i.t.Helper()
	i.askBy(io.Discard, result, method, append(args, "--stored-auth-only")...)
}

// askBy does the same, and also hands on what the Inspector prints to stderr.
func (i inspectorRun) askBy(said io.Writer, result any, method string, args ...string) {
	i.t.Helper()
	run := tools.Node(i.t, append([]string{
		tools.Program(i.t, "inspector"), "--cli", "--server-url", i.c.up.URL + "/mcp", "--transport", "http", "--protocol-era", i.era,
		"--connect-timeout", "60000", "--format", "json", "--method", method,
	}, args...)...)
	// Its login needs a terminal or this variable; the test, as the person,
	// opens the browser instead of it.
	run.Env = append(run.Environ(), "HOME="+i.home, "MCP_INSPECTOR_SECRET_STORE=file", "MCP_AUTO_OPEN_ENABLED=true", "BROWSER=true", "DISPLAY=")
	var stderr bytes.Buffer
	run.Stderr = io.MultiWriter(&stderr, said)
	out, err := run.Output()
	if err != nil {
		i.t.Fatalf("%s %q: %v\n%s%s", method, args, err, out, &stderr)
	}
	if err := json.Unmarshal(out, &struct{ Result any }{result}); err != nil {
		i.t.Fatalf("%s %q: %v\n%s", method, args, err, out)
	}
}

// lists reads all four. The schemas of the tools must be acceptable to models
// and their vendors: that is what --strict checks (MCP-14).
func (i inspectorRun) lists() (o offer) {
	i.t.Helper()
	var tools struct {
		Tools []struct {
			Name         string
			Annotations  *struct{ ReadOnlyHint bool }
			OutputSchema json.RawMessage
		}
	}
	i.ask(&tools, "tools/list", "--strict")
	for _, tool := range tools.Tools {
		o.Tools = append(o.Tools, tool.Name)
		modern := i.era == "modern" // MCP-12a to MCP-12c
		if (tool.Annotations != nil) != modern || (tool.OutputSchema != nil) != modern {
			i.t.Errorf("%s of the %s era: annotations %+v, output schema %s", tool.Name, i.era, tool.Annotations, tool.OutputSchema)
		}
	}
	var prompts struct{ Prompts []struct{ Name string } }
	i.ask(&prompts, "prompts/list")
	for _, p := range prompts.Prompts {
		o.Prompts = append(o.Prompts, p.Name)
	}
	var resources struct{ Resources []struct{ URI string } }
	i.ask(&resources, "resources/list")
	for _, r := range resources.Resources {
		o.Resources = append(o.Resources, r.URI)
	}
	var templates struct {
		ResourceTemplates []struct{ URITemplate string }
	}
	i.ask(&templates, "resources/templates/list")
	for _, r := range templates.ResourceTemplates {
		o.Templates = append(o.Templates, r.URITemplate)
	}
	return o
}

// tool calls a tool and returns the text of its result.
func (i inspectorRun) tool(name string) string {
	i.t.Helper()
	return i.toolBy(io.Discard, name, "--stored-auth-only")
}

func (i inspectorRun) toolBy(said io.Writer, name string, args ...string) string {
	i.t.Helper()
	var result struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
	i.askBy(said, &result, "tools/call", append([]string{"--tool-name", name}, args...)...)
	if len(result.Content) != 1 || !json.Valid(result.StructuredContent) {
		i.t.Fatalf("%s: %+v", name, result)
	}
	return result.Content[0].Text
}

// prompt returns the text of a prompt with an argument.
func (i inspectorRun) prompt(name, argument string) string {
	i.t.Helper()
	var result struct {
		Messages []struct {
			Role    string
			Content struct{ Text string }
		}
	}
	i.ask(&result, "prompts/get", "--prompt-name", name, "--prompt-args", argument)
	if len(result.Messages) != 1 || result.Messages[0].Role != "user" {
		i.t.Fatalf("%s: %+v", name, result)
	}
	return result.Messages[0].Content.Text
}

func (i inspectorRun) resource(uri string) string {
	i.t.Helper()
	var result struct{ Contents []struct{ Text string } }
	i.ask(&result, "resources/read", "--uri", uri)
	if len(result.Contents) != 1 {
		i.t.Fatalf("%s: %+v", uri, result)
	}
	return result.Contents[0].Text
}

package docs

import (
	"bytes"
	"encoding/json"
	"html"
	"html/template"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"preismon/contracts/openapi"
)

// words turns the texts of the contract into HTML: anything marked as code that
// has a place in the page becomes a link to it.
type words struct {
	translation
	base  string
	links map[string]string // from the text of a code span to its place
}

func newWords(o *openapi.Outline, base string, t translation) words {
	w := words{t, base, map[string]string{}}
	for _, r := range o.Schemas {
		w.links[r.Name] = "#schema-" + r.Name
	}
	for _, code := range o.Codes {
		w.links[code] = problemPath(code)
	}
	for _, h := range o.Headers {
		w.links[h.Name] = "#header-" + h.Name
	}
	for _, tag := range o.Tags {
		for _, op := range tag.Operations {
			w.links[op.Method+" "+op.Path] = "#" + op.ID
		}
	}
	return w
}

// problemPath returns the path of an error code's page, relative to this page.
func problemPath(code string) string {
	return "problems/" + strings.ReplaceAll(strings.ToLower(code), "_", "-")
}

// good reports whether a status is not that of an error.
func good(status string) bool { return strings.HasPrefix(status, "2") }

// failures returns the statuses of errors among responses; empty: there are
// none.
func failures(of []openapi.Response) string {
	var all []string
	for _, r := range of {
		if !good(r.Status) {
			all = append(all, r.Status)
		}
	}
	return strings.Join(all, ", ")
}

// based inserts the address of the service into a text.
func (w words) based(text string) string { return strings.ReplaceAll(text, "{base_url}", w.base) }

var codeSpan = regexp.MustCompile(`<code>([^<]+)</code>`)

// markdown renders a text of the contract.
func (w words) markdown(english string) (template.HTML, error) {
	return w.rendered(w.based(w.text(english)))
}

// commonmark reads the Markdown of the contract, which has tables.
var commonmark = goldmark.New(goldmark.WithExtensions(extension.Table))

// rendered converts Markdown to HTML. HTML in the Markdown is left out.
func (w words) rendered(text string) (template.HTML, error) {
	var b bytes.Buffer
	if err := commonmark.Convert([]byte(text), &b); err != nil {
		return "", err
	}
	linked := codeSpan.ReplaceAllStringFunc(b.String(), func(span string) string {
		to := w.link(html.UnescapeString(codeSpan.FindStringSubmatch(span)[1]))
		if to == "" {
			return span
		}
		return `<a href="` + html.EscapeString(to) + `">` + span + `</a>`
	})
	return template.HTML(linked), nil //nolint:gosec // made by goldmark, which leaves HTML out
}

var statusOrQuery = regexp.MustCompile(`^[1-5][0-9]{2} |\?.*$`)

// link returns the place of what a text names: an error code may follow its
// status, and an operation may be followed by a query.
func (w words) link(code string) string { return w.links[statusOrQuery.ReplaceAllString(code, "")] }

// kind renders a type.
func (w words) kind(english string) (template.HTML, error) { return w.inline(w.typed(english)) }

// code renders a name.
func (w words) code(name string) (template.HTML, error) { return w.inline("`" + name + "`") }

// inline renders Markdown of one paragraph without the paragraph.
func (w words) inline(text string) (template.HTML, error) {
	h, err := w.rendered(text)
	s := strings.TrimSpace(string(h))
	if inner, ok := strings.CutPrefix(s, "<p>"); ok && strings.Count(s, "<p>") == 1 {
		s = strings.TrimSuffix(inner, "</p>")
	}
	return template.HTML(s), err //nolint:gosec // as above
}

// curl returns a command for a POSIX shell. The token is in the environment: it
// must not end up in a shell history.
func (w words) curl(op openapi.Operation) (string, error) {
	command := "curl -sS --fail-with-body"
	switch {
	case strings.HasPrefix(op.ID, "stream"):
		command += " -N --compressed"
	case strings.HasPrefix(op.ID, "download"):
		command += " -OJ"
	}
	if op.Method != "GET" && op.Body == nil {
		command += " -X " + op.Method
	}
	switch op.Security {
	case "bearer":
		command += ` -H "Authorization: Bearer $PREISMON_TOKEN"`
	case "oauth":
		command += ` -H "Authorization: Bearer $MCP_TOKEN"`
	}
	if op.Body != nil {
		var body bytes.Buffer
		if err := json.Compact(&body, []byte(op.Body.Example)); err != nil {
			return "", err
		}
		command += " \\\n  -H 'Content-Type: " + op.Body.Media + "' -d " + quoted(body.String())
	}
	return command + " \\\n  " + quoted(w.base+op.Sample), nil
}

// token returns the commands that log in, for the other commands to use.
func (w words) token() string {
	return "export PREISMON_TOKEN=$(curl -sS --fail-with-body " + quoted(w.base+"/v1/auth/token") + " \\\n" +
		`  -H 'Content-Type: application/json' -d '{"loginIdentifier":"LOGIN","password":"PASSWORD"}' \` + "\n" +
		`  | sed 's/.*"accessToken":"\([^"]*\)".*/\1/')`
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

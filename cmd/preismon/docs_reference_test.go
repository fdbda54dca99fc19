package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"preismon/contracts/event"
	"preismon/contracts/openapi"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/wire"
)

var update = flag.Bool("update", false, "write the generated pages of the documentation")

// TestReference compares the generated pages with their sources: the flags, the
// schema of events, the table of errors. With -update it writes them.
func TestReference(t *testing.T) {
	for name, page := range map[string]func(*testing.T) string{
		"configuration.md": configurationPage, "events.md": eventsPage, "errors.md": errorsPage,
	} {
		path := filepath.Join(docsFolder, "reference", name)
		want := page(t)
		if *update {
			must.Do(t, os.WriteFile(path, []byte(want), 0o644))
		}
		have := must.Get(os.ReadFile(path))(t)
		equals.Checkf(t, want, string(have), "%s is stale; run: go test ./cmd/preismon -run TestReference -update", name)
	}
}

// TestExitCodes: the page lists exactly the codes that exist.
func TestExitCodes(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(docsFolder, "reference", "exit-codes.md")))(t)
	for _, code := range []int{0, exitFailed, exitUsage, exitRejected, exitIncomplete, exitFound} {
		if !strings.Contains(string(text), fmt.Sprintf("\n| %d |", code)) {
			t.Errorf("no code %d", code)
		}
	}
	equals.Is(t, 6, strings.Count(string(text), "\n| ")-1, "codes")
}

const generated = "<!-- Made by `go test ./cmd/preismon -run TestReference -update`; the test fails when it is stale. -->\n\n"

// configurationPage lists the flags of every command.
func configurationPage(t *testing.T) string {
	parser := must.Get(kong.New(newCLI(), kong.Name("preismon"), kong.DefaultEnvars("PREISMON"), kong.Vars(defaults()), kong.Writers(io.Discard, io.Discard)))(t)
	var b strings.Builder
	b.WriteString(generated + `# Configuration

Every setting is a flag. A flag takes precedence over its environment variable, the variable over a line ` + "`flag: value`" + ` in the YAML file of ` + "`--config`" + `,
and that line over the default. A secret given as ` + "`@FILE`" + ` is read from the file. ` + "`--check`" + ` lists all errors of a configuration at once and does
nothing else; ` + "`--print-config`" + ` shows the settings in force, without secrets.

## For all commands

`)
	flagTable(&b, parser.Model.Flags)
	for _, n := range parser.Model.Leaves(true) {
		fmt.Fprintf(&b, "\n## preismon %s\n\n%s\n", strings.TrimSpace(n.Path()), n.Help)
		for _, p := range n.Positional {
			fmt.Fprintf(&b, "\nTakes `%s`: %s\n", p.Summary(), p.Help)
		}
		if len(n.Flags) > 0 {
			b.WriteString("\n")
			flagTable(&b, n.Flags)
		}
	}
	return b.String()
}

func flagTable(b *strings.Builder, flags []*kong.Flag) {
	b.WriteString("| Flag | Variable | Default | Meaning |\n|---|---|---|---|\n")
	flags = slices.Clone(flags)
	slices.SortFunc(flags, func(a, b *kong.Flag) int { return cmp.Compare(a.Name, b.Name) })
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		name := "`--" + f.Name + "`"
		if f.Short != 0 {
			name += ", `-" + string(f.Short) + "`"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, quotedAll(f.Envs), quotedAll([]string{f.Default}), inCell(strings.TrimSuffix(f.Help, " Default: "+f.Default+".")))
	}
}

// quotedAll formats values as code, and skips empty ones.
func quotedAll(values []string) string {
	var all []string
	for _, v := range values {
		if v != "" {
			all = append(all, "`"+v+"`")
		}
	}
	return strings.Join(all, ", ")
}

func inCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(strings.Join(strings.Fields(text), " "))
}

// eventSchema is the part of a JSON Schema that the page shows.
type eventSchema struct {
	Ref         string                  `json:"$ref"`
	Type        any                     `json:"type"`
	Description string                  `json:"description"`
	Required    []string                `json:"required"`
	Properties  schemaFields            `json:"properties"`
	Items       *eventSchema            `json:"items"`
	Additional  *eventSchema            `json:"additionalProperties"`
	Enum        []string                `json:"enum"`
	Const       any                     `json:"const"`
	Pattern     string                  `json:"pattern"`
	MaxLength   int                     `json:"maxLength"`
	MaxItems    int                     `json:"maxItems"`
	AnyOf       []*eventSchema          `json:"anyOf"`
	OneOf       []*eventSchema          `json:"oneOf"`
	Defs        map[string]*eventSchema `json:"$defs"`
}

// schemaFields are the fields of an object, in the order of the file.
type schemaFields []schemaField

type schemaField struct {
	name string
	*eventSchema
}

func (f *schemaFields) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		field := schemaField{name: name.(string)}
		if err := d.Decode(&field.eventSchema); err != nil {
			return err
		}
		*f = append(*f, field)
	}
	return nil
}

func (f schemaFields) named(name string) *eventSchema {
	return f[slices.IndexFunc(f, func(field schemaField) bool { return field.name == name })].eventSchema
}

// eventsPage describes every kind of event.
func eventsPage(t *testing.T) string {
	folder := filepath.Join(rootFolder, "contracts", "event")
	text := must.Get(os.ReadFile(filepath.Join(folder, "event.schema.json")))(t)
	var s eventSchema
	must.Do(t, json.Unmarshal(text, &s))
	var b strings.Builder
	b.WriteString(generated + "# Events\n\n" + s.Description + " The schema for programs is [event.schema.json](../../../contracts/event/event.schema.json).\n\n## The envelope\n\n")
	fieldTable(&b, &s)
	shown := map[string]bool{}
	for _, one := range s.OneOf {
		kind := fmt.Sprint(one.Properties.named("kind").Const)
		name := strings.TrimPrefix(one.Properties.named("data").Ref, "#/$defs/")
		example := must.Get(os.ReadFile(filepath.Join(folder, "testdata", kind+".json")))(t)
		e := must.Get(event.Decode(example))(t)
		fmt.Fprintf(&b, "\n## %s\n\n%s In stream `%s`, as subject `%s` for this one:\n\n```json\n%s\n```\n\nIts `data` is a record [%s](#record-%s).\n",
			kind, s.Defs[name].Description, event.Kind(kind).Stream(), e.Subject(), strings.TrimSpace(string(example)), name, strings.ToLower(name))
		shown[name] = true
	}
	b.WriteString("\n# Records and values\n")
	for _, name := range slices.Sorted(maps.Keys(s.Defs)) {
		d := s.Defs[name]
		fmt.Fprintf(&b, "\n## Record %s\n\n", name)
		if d.Properties == nil {
			b.WriteString(inCell(d.Description) + limits(d) + "\n")
			continue
		}
		if d.Description != "" {
			b.WriteString(d.Description + "\n\n")
		}
		fieldTable(&b, d)
	}
	return b.String()
}

func fieldTable(b *strings.Builder, s *eventSchema) {
	b.WriteString("| Field | Type | Required | Meaning |\n|---|---|---|---|\n")
	fieldRows(b, "", s)
}

// fieldRows describes the fields of an object, each followed by the fields
// within it.
func fieldRows(b *strings.Builder, within string, s *eventSchema) {
	for _, f := range s.Properties {
		required := ""
		if slices.Contains(s.Required, f.name) {
			required = "yes"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", within+f.name, typeName(f.eventSchema), required, inCell(f.Description+limits(f.eventSchema)))
		switch {
		case f.Properties != nil:
			fieldRows(b, within+f.name+".", f.eventSchema)
		case f.Items != nil && f.Items.Properties != nil:
			fieldRows(b, within+f.name+"[].", f.Items)
		}
	}
}

// typeName is the type of a value that is not null.
func typeName(s *eventSchema) string {
	switch {
	case s.Ref != "":
		name := strings.TrimPrefix(s.Ref, "#/$defs/")
		return "[" + name + "](#record-" + strings.ToLower(name) + ")"
	case s.Items != nil:
		return "list of " + typeName(s.Items)
	case s.AnyOf != nil:
		return typeName(s.AnyOf[0])
	case s.Enum != nil:
		return "string"
	case s.Const != nil:
		return "number"
	case s.Type == nil:
		return "any"
	case s.Additional != nil:
		return "object of " + typeName(s.Additional) + "s"
	}
	if all, ok := s.Type.([]any); ok {
		return fmt.Sprint(all[0])
	}
	return fmt.Sprint(s.Type)
}

// limits describes which values are allowed, as far as a person needs to know.
func limits(s *eventSchema) (text string) {
	each := s
	if s.Items != nil {
		each = s.Items
	}
	switch {
	case len(each.Enum) > 20:
	case len(each.Enum) > 0:
		text += " One of " + quotedAll(each.Enum) + "."
	case each.Const != nil:
		text += fmt.Sprintf(" Always `%v`.", each.Const)
	case each.Pattern != "":
		text += " Matches `" + each.Pattern + "`."
	}
	if s.MaxLength > 0 {
		text += fmt.Sprintf(" At most %d bytes.", s.MaxLength)
	}
	if s.MaxItems > 0 {
		text += fmt.Sprintf(" At most %d.", s.MaxItems)
	}
	return text
}

// errorsPage lists the codes of the public surface.
func errorsPage(t *testing.T) string {
	o := must.Get(openapi.Outlined())(t)
	var b strings.Builder
	b.WriteString(generated + `# Errors

Every error of the REST surface is a problem object (RFC 9457) with one of these codes, which never change their meaning. ` + "`type`" + ` of the object is the
address of a page that says the same. In the stream an error before the first line is such an object; after it the transfer breaks.
The tools of MCP put the same object into their result.

| Code | Status | Title | What to do |
|---|---|---|---|
`)
	for _, code := range o.Codes {
		m, ok := wire.MeaningOf(code)
		if !ok {
			t.Errorf("%s has no meaning", code)
		}
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s |\n", code, m.Status, inCell(m.Title), inCell(m.Remedy))
	}
	return b.String()
}

package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"golang.org/x/net/html"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// pair is a text of the contract and its German translation.
type pair struct{ En, De string }

// germans are the pairs of all files.
func germans(t *testing.T) (all []pair) {
	t.Helper()
	files := must.Get(filepath.Glob("german/*.yaml"))(t)
	for _, name := range files {
		source := must.Get(os.ReadFile(name))(t)
		var pairs []pair
		must.Do(t, yaml.UnmarshalWithOptions(source, &pairs, yaml.Strict()))
		all = append(all, pairs...)
	}
	return all
}

// contractTexts are the texts of the contract that the page shows.
func contractTexts(o *openapi.Outline) map[string]bool {
	all := map[string]bool{o.Title: true, o.Summary: true, o.About: true}
	fields := func(of []openapi.Field) {
		for _, f := range of {
			all[f.About] = true
		}
	}
	for _, tag := range o.Tags {
		all[tag.Name], all[tag.About] = true, true
		for _, op := range tag.Operations {
			all[op.Summary], all[op.About] = true, true
			fields(op.Parameters)
			for _, r := range op.Responses {
				all[r.About] = true
			}
		}
	}
	for _, h := range o.Headers {
		all[h.About] = true
	}
	for _, r := range o.Schemas {
		all[r.About] = true
		fields(r.Fields)
	}
	delete(all, "")
	return all
}

// TestTranslated: each text of the contract has one translation, and each
// translation has its text.
func TestTranslated(t *testing.T) {
	o := must.Get(openapi.Outlined())(t)
	missing := contractTexts(o)
	texts, done := len(missing), map[string]bool{}
	for _, p := range germans(t) {
		switch {
		case done[p.En]:
			t.Errorf("translated twice: %q", p.En)
		case !missing[p.En]:
			t.Errorf("translated, but not in the contract: %q", p.En)
		case p.De == "" || p.De == p.En && !strings.HasPrefix(p.En, "ISO "):
			t.Errorf("not in German: %q", p.En)
		}
		delete(missing, p.En)
		done[p.En] = true
	}
	for text := range missing {
		t.Errorf("no German for %q", text)
	}
	if texts < 500 {
		t.Errorf("%d texts", texts)
	}
}

var (
	code    = regexp.MustCompile("`[^`]+`")
	number  = regexp.MustCompile(`\d+(?:[.,:T-]?\d+)*`)
	grouped = regexp.MustCompile(`,(\d{3})`)
	link    = regexp.MustCompile(`\]\([^)]*\)`)
)

// facts returns what a translation must not change, sorted: code, links and
// numbers. English groups of digits are converted; the decimal point is the
// same in both languages.
func facts(text string, german bool) (all []string) {
	all = append(code.FindAllString(text, -1), link.FindAllString(text, -1)...)
	text = code.ReplaceAllString(text, "")
	if !german {
		text = grouped.ReplaceAllString(text, ".$1")
	}
	all = append(all, number.FindAllString(text, -1)...)
	slices.Sort(all)
	return all
}

// TestSameFacts: a translation has the same code, links, numbers, paragraphs,
// list items and table rows as its text.
func TestSameFacts(t *testing.T) {
	for _, p := range germans(t) {
		equals.Checkf(t, facts(p.En, false), facts(p.De, true), "%q", p.En)
		for _, mark := range []string{"\n\n", "\n- ", "|", "**"} {
			if en, de := strings.Count("\n"+p.En, mark), strings.Count("\n"+p.De, mark); en != de {
				t.Errorf("%q: %d of %q, in German %d", p.En, en, mark, de)
			}
		}
	}
}

// englishWords are frequent in English and do not occur in the German texts.
var englishWords = regexp.MustCompile(`(?i)\b(the|of|and|or|to|which|with|is|are|be|been|by|for|from|that|this|these|those|it|its|as|at|on|no|not|one|each|every|when|where|may|must|has|have|had|who|than|then|only|more|most|any|what|how|you|your|page|record|row|request|answer|read|list|string|integer|number|boolean|object|array|always|like|default|least|path|header|required|optional|copy|body|example|errors|headers|records|contents)\b`)

// TestGerman: the German page has no English outside of code, and each
// operation has a name.
func TestGerman(t *testing.T) {
	doc := must.Get(html.Parse(spoken(t, "de").Body))(t)
	names := 0
	for n := range doc.Descendants() {
		if n.Type != html.TextNode || slices.Contains([]string{"code", "pre", "title"}, n.Parent.Data) {
			continue
		}
		equals.Slices(t, nil, englishWords.FindAllString(n.Data, -1), "in %q", n.Data)
		if n.Parent.Data == "a" && n.Parent.Parent.Data == "h3" {
			names++
		}
	}
	if names < 40 {
		t.Errorf("%d operations have a name", names)
	}
}

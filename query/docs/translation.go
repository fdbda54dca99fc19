package docs

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// translation translates the texts of the contract; the zero value returns them in
// the language of the contract, English. A text without a translation stays
// English.
type translation struct {
	texts map[string]string // by the English text
	types *strings.Replacer
}

// The files hold the texts in the order in which they first appear on the page.
//
//go:embed german/*.yaml
var germanTexts embed.FS

// germanTypes translates the words that openapi.Outlined writes types with; of
// two with the same beginning, the longer one comes first.
var germanTypes = strings.NewReplacer(
	"list of string", "Liste von Zeichenketten", "list of object", "Liste von Objekten", "list of ", "Liste von ", "array", "Liste",
	"string", "Zeichenkette", "integer", "ganze Zahl", "number", "Zahl", "boolean", "Wahrheitswert", "object", "Objekt",
	" or ", " oder ", ", one of ", ", eines von ", ", always ", ", immer ", ", like ", ", nach dem Muster ", ", default ", ", Vorgabe ",
	", at least ", ", mindestens ", " to ", " bis ",
)

// byLanguage reads the translations of the contract, once.
var byLanguage = sync.OnceValues(func() (map[string]translation, error) {
	german, err := translations(germanTexts)
	return map[string]translation{"en": {}, "de": {german, germanTypes}}, err
})

// translations reads pairs of texts from all files.
func translations(from fs.FS) (map[string]string, error) {
	files, err := fs.Glob(from, "*/*.yaml")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, name := range files {
		source, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		var pairs []struct{ En, De string }
		if err := yaml.UnmarshalWithOptions(source, &pairs, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("docs: %s: %w", name, err)
		}
		for _, p := range pairs {
			all[p.En] = p.De
		}
	}
	return all, nil
}

// Translated returns a text of the contract in a language; one without a
// translation stays English.
func Translated(lang, english string) (string, error) {
	spoken, err := byLanguage()
	return spoken[lang].text(english), err
}

// text returns a text of the contract in this language.
func (t translation) text(english string) string {
	if said, ok := t.texts[english]; ok {
		return said
	}
	return english
}

// typed returns a type in this language; code in it stays unchanged.
func (t translation) typed(english string) string {
	if t.types == nil {
		return english
	}
	parts := strings.Split(english, "`")
	for i := 0; i < len(parts); i += 2 { // the others are code
		parts[i] = t.types.Replace(parts[i])
	}
	return strings.Join(parts, "`")
}

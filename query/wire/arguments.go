package wire

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"

	"preismon/contracts/strictjson"
)

// FromArguments returns the members of a JSON object as parameters; an empty
// text is an empty object. Numbers and booleans keep their spelling, so that a
// number of any size stays exact, except for decimals that are all 0: 5.0 is 5,
// as in JSON Schema. null means that a parameter is not given.
func FromArguments(object json.RawMessage) *Params {
	p := &Params{read: map[string]bool{}, quoted: map[string]bool{}, values: url.Values{}}
	if len(bytes.TrimSpace(object)) == 0 {
		return p
	}
	if err := strictjson.Members(object, func(name string, value json.RawMessage) error { p.member(name, value); return nil }); err != nil {
		p.fault("The arguments are not one JSON object.")
	}
	return p
}

// AddFault adds a fault of an argument that does not belong to the read itself;
// empty: none.
func (p *Params) AddFault(wrong string) *Params {
	if wrong != "" {
		p.faults = append(p.faults, wrong)
	}
	return p
}

// FromTexts is FromArguments for an object whose members are all texts, as in a
// query string.
func FromTexts(object json.RawMessage) *Params {
	p := FromArguments(object)
	p.quoted = nil
	return p
}

func (p *Params) member(name string, value json.RawMessage) {
	switch value[0] {
	case 'n':
		return
	case '{', '[':
		p.fault("%s: not a text, a number or a boolean.", Quote(name))
		p.read[name] = true // already reported
		return
	case '"':
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			p.fault("%s: not a text.", Quote(name))
			return
		}
		p.values.Add(name, text)
		p.quoted[name] = true
	default:
		p.values.Add(name, zeros.ReplaceAllString(string(value), "$1"))
	}
}

// zeros matches a number whose decimals are all 0.
var zeros = regexp.MustCompile(`^(-?[0-9]+)\.0+$`)

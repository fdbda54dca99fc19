package wire

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"

	"preismon/contracts/strictjson"
)

// FromArguments takes the members of a JSON object; none at all is an empty
// one. Numbers and booleans are taken as they are written, so that a number
// of any size stays exact, but for decimals that are all 0: 5.0 is 5, as JSON
// Schema has it. null is a parameter that is not given.
func FromArguments(object json.RawMessage) *Params {
	p := &Params{asked: map[string]bool{}, quoted: map[string]bool{}, values: url.Values{}}
	if len(bytes.TrimSpace(object)) == 0 {
		return p
	}
	if err := strictjson.Members(object, func(name string, value json.RawMessage) error { p.member(name, value); return nil }); err != nil {
		p.fault("The arguments are not one JSON object.")
	}
	return p
}

// Besides adds what is wrong with an argument that is not of the read itself; empty:
// nothing.
func (p *Params) Besides(wrong string) *Params {
	if wrong != "" {
		p.faults = append(p.faults, wrong)
	}
	return p
}

// FromTexts takes such members where all of them are texts, as in a query string.
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
		p.asked[name] = true // said already
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

// zeros are the decimals of a number that is an integer.
var zeros = regexp.MustCompile(`^(-?[0-9]+)\.0+$`)

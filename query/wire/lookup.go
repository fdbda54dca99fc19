package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"preismon/contracts"
	"preismon/contracts/strictjson"
	"preismon/query"
)

// MaxLookupBytes bounds the body of a lookup: twice what 10,000 ASINs take.
const MaxLookupBytes = 1 << 20

// Lookup returns, for many identifiers at once, what they name and what was
// seen last.
func Lookup(ctx context.Context, s *query.Service, p query.Principal, in *Params, body []byte) (*Records, error) {
	req := query.LookupRequest{Timezone: in.text("timezone")}
	if len(in.faults) == 0 { // otherwise it is refused anyway, or ParametersOf only lists its parameters
		req.Keys = in.lookupKeys(body)
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	found, err := s.Lookup(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return &Records{Columns: query.LookupColumns(), Rows: found.Entries, Returned: found.Query.Asked, Query: found.Query, Release: found.Release}, nil
}

// LookupBody returns the body of the lookup of identifiers that are parameters
// of an explanation, each repeated like asins=B000000001:de, and takes these
// parameters away.
func LookupBody(parameters url.Values) ([]byte, error) {
	body := map[string]any{}
	for kind := range lookupKinds {
		values := parameters[kind]
		if parameters.Del(kind); len(values) == 0 {
			continue
		}
		body[kind] = values
		if kind == "asins" {
			asins := make([]map[string]string, len(values))
			for i, value := range values {
				asin, locale, _ := strings.Cut(value, ":")
				asins[i] = map[string]string{"asin": asin, "asinLocale": locale}
			}
			body[kind] = asins
		}
	}
	return Marshal(body)
}

// lookupKinds are the members of the body.
var lookupKinds = map[string]func(*Params, string, json.RawMessage) query.LookupKey{
	"eans": func(p *Params, at string, v json.RawMessage) query.LookupKey {
		return query.LookupKey{EAN: p.element(at, v, forms["ean"])}
	},
	"pzns": func(p *Params, at string, v json.RawMessage) query.LookupKey {
		return query.LookupKey{PZN: p.element(at, v, forms["pzn"])}
	},
	"asins":   (*Params).asinElement,
	"itemIds": (*Params).itemElement,
}

// lookupKeys reads the identifiers in the order of the body, strictly: names
// are matched exactly, and nothing may be given twice or be left over.
func (p *Params) lookupKeys(body []byte) (keys []query.LookupKey) {
	given := map[string]bool{}
	err := strictjson.Members(body, func(name string, list json.RawMessage) error {
		if len(p.faults) >= mostFaults {
			return errStop
		}
		var values []json.RawMessage
		if json.Unmarshal(list, &values) != nil {
			p.fault("%s: not a list.", Quote(name))
			return errStop
		}
		kind, known := lookupKinds[name]
		switch {
		case !known:
			p.fault("%s: unknown field.", Quote(name))
		case given[name]:
			p.fault("%s: given twice.", name)
		}
		given[name] = true
		if len(keys)+len(values) > query.MaxLookups {
			p.fault("The body names more than %d identifiers.", query.MaxLookups)
			return errStop
		}
		for i, v := range values {
			if !known || len(p.faults) >= mostFaults {
				break
			}
			keys = append(keys, kind(p, fmt.Sprintf("%s[%d]", name, i), v))
		}
		return nil
	})
	switch {
	case errors.Is(err, strictjson.ErrAfter):
		p.fault("The body has something after its object.")
	case errors.Is(err, strictjson.ErrNoObject):
		p.fault("The body is not one JSON object.")
	}
	return keys
}

// errStop stops reading a body when a fault has been reported.
var errStop = errors.New("stop")

// mostFaults bounds how many faults of one body are reported; the others are
// similar.
const mostFaults = 5

// element reads a text of a list.
func (p *Params) element(at string, v json.RawMessage, f form) string {
	var text string
	if v[0] != '"' || json.Unmarshal(v, &text) != nil || !f.valid(text) {
		p.fault("%s: %s is not %s.", at, Quote(string(v)), f.what)
		return ""
	}
	return text
}

func (p *Params) itemElement(at string, v json.RawMessage) query.LookupKey {
	var id contracts.ItemID
	p.element(at, v, form{
		func(text string) bool { return id.UnmarshalText([]byte(text)) == nil }, "the text of a decimal number from 1 to 18446744073709551615",
	})
	return query.LookupKey{ItemID: id}
}

func (p *Params) asinElement(at string, v json.RawMessage) (k query.LookupKey) {
	members := map[string]json.RawMessage{}
	err := strictjson.Members(v, func(name string, value json.RawMessage) error {
		if members[name] != nil {
			p.fault("%s: %s: given twice.", at, Quote(name))
			return errStop
		}
		members[name] = value
		return nil
	})
	switch {
	case errors.Is(err, errStop):
		return k
	case err != nil, len(members) != 2, members["asin"] == nil, members["asinLocale"] == nil:
		p.fault("%s: not an object of asin and asinLocale.", at)
		return k
	}
	k.ASIN = p.element(at+".asin", members["asin"], forms["asin"])
	k.ASINLocale = p.element(at+".asinLocale", members["asinLocale"], forms["asinLocale"])
	return k
}

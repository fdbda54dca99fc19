package query

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"preismon/contracts"
)

// binding is what a cursor belongs to: the account, the route, and what the
// request means (choices 63).
type binding struct {
	Account contracts.AccountID
	Route   string
	// Query is the request as it was spelled, without its cursor and limit.
	// Its JSON has the names of parameters.
	Query any
	// Meaning is Query with its defaults left out and each instant in one
	// spelling; nil: Query has but one spelling.
	Meaning any `json:"-"`
}

// ends is the data that each cursor of an account's route is sealed with.
func (b binding) ends() ([]byte, error) {
	b.Query = nil
	return json.Marshal(b)
}

// prints returns the parameters that a request sets, each with a hash of its
// value: enough to find out which of them differ.
func (b binding) prints() (map[string]string, error) {
	meaning := b.Meaning
	if meaning == nil {
		meaning = b.Query
	}
	if meaning == nil {
		return nil, nil
	}
	raw, err := json.Marshal(meaning)
	if err != nil {
		return nil, err
	}
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, err
	}
	prints := map[string]string{}
	for name, value := range given {
		group := map[string]json.RawMessage{}
		if json.Unmarshal(value, &group) != nil {
			prints[name] = fingerprint(value)
		}
		for member, value := range group { // include.coverage is includeCoverage
			prints[name+strings.ToUpper(member[:1])+member[1:]] = fingerprint(value)
		}
	}
	return prints, nil
}

func fingerprint(value []byte) string {
	sum := sha256.Sum256(value)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// differing returns the parameters that only one of two requests sets, or that
// they set differently.
func differing(a, b map[string]string) (names []string) {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	for name := range all {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	return names
}

// otherQuery refuses a cursor that belongs to another query of the same owner.
func otherQuery(names []string) error {
	slices.Sort(names)
	verb := " differs"
	if len(names) > 1 {
		verb = " differ"
	}
	return invalid("cursor: it belongs to another of your queries: %s%s. Send the parameters of that query, of which only limit may change, or leave the cursor out.",
		enumerated(names), verb)
}

// enumerated joins names as in a sentence.
func enumerated(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

package rest

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"
)

// Bounds of parameter values.
const (
	maxTextBytes   = 256
	maxCursorBytes = 4096
	maxEcho        = 64 // of a wrong value, in the answer
)

var (
	eanForm   = regexp.MustCompile(`^[0-9]{8,14}$`)
	pznForm   = regexp.MustCompile(`^[0-9]{8}$`)
	limitForm = regexp.MustCompile(`^-?[0-9]{1,9}$`)
)

// params decodes a query string strictly: the parameters a route asks for
// are the ones it knows. Ask for all, then see err: it names every fault at
// once, also parameters that nobody asked for.
type params struct {
	values url.Values
	asked  map[string]bool
	faults []string
}

func parseParams(rawQuery string) *params {
	p := &params{asked: map[string]bool{}}
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		p.fault("The query string is malformed: a wrong percent-encoding or a semicolon.")
	}
	p.values = values
	return p
}

func (p *params) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// raw gives the one value of a parameter; ok is false when it is not given,
// or when it is wrong already.
func (p *params) raw(name string, limit int) (value string, ok bool) {
	p.asked[name] = true
	given := p.values[name]
	switch {
	case len(given) == 0:
		return "", false
	case len(given) > 1:
		p.fault("%s: given %d times.", name, len(given))
		return "", false
	}
	value = given[0]
	switch {
	case value == "":
		p.fault("%s: empty.", name)
	case len(value) > limit:
		p.fault("%s: longer than %d bytes.", name, limit)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		p.fault("%s: not printable UTF-8.", name)
	default:
		return value, true
	}
	return "", false
}

func (p *params) text(name string) string {
	value, _ := p.raw(name, maxTextBytes)
	return value
}

func (p *params) cursor() string {
	value, _ := p.raw("cursor", maxCursorBytes)
	return value
}

// form takes a value that has a form; what says which.
func (p *params) form(name string, valid func(string) bool, what string) string {
	value, ok := p.raw(name, maxTextBytes)
	if ok && !valid(value) {
		p.fault("%s: %s is not %s.", name, quote(value), what)
		return ""
	}
	return value
}

func (p *params) ean() string {
	return p.form("ean", eanForm.MatchString, "an EAN of 8 to 14 digits")
}

func (p *params) pzn() string {
	return p.form("pzn", pznForm.MatchString, "a PZN of 8 digits")
}

func (p *params) asin() string {
	return p.form("asin", contracts.ValidASIN, "an ASIN of 10 capital letters or digits")
}

func (p *params) asinLocale() string {
	return p.form("asinLocale", contracts.ValidASINLocale, "a locale key like de or co.uk")
}

func (p *params) site() contracts.SiteKey {
	valid := func(s string) bool { return contracts.SiteKey(s).Valid() }
	return contracts.SiteKey(p.form("site", valid, "a site key"))
}

func (p *params) limit() *int {
	value, ok := p.raw("limit", maxTextBytes)
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || !limitForm.MatchString(value) {
		p.fault("limit: %s is not an integer.", quote(value))
		return nil
	}
	return &n
}

// choice takes true or false; nil: not given.
func (p *params) choice(name string) *bool {
	value, ok := p.raw(name, maxTextBytes)
	if !ok {
		return nil
	}
	if value != "true" && value != "false" {
		p.fault("%s: %s is neither true nor false.", name, quote(value))
		return nil
	}
	yes := value == "true"
	return &yes
}

func (p *params) flag(name string) bool {
	v := p.choice(name)
	return v != nil && *v
}

// id takes an id of any kind.
func id[T ~uint64](p *params, name string) T {
	value, ok := p.raw(name, maxTextBytes)
	if !ok {
		return 0
	}
	parsed, err := contracts.ParseID[T](value)
	if err != nil {
		p.fault("%s: %s is not a decimal number from 1 to 18446744073709551615.", name, quote(value))
	}
	return parsed
}

// err gives every fault of the query string as one.
func (p *params) err() error {
	var unknown []string
	for name := range p.values {
		if !p.asked[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	const most = 5
	for i, name := range unknown {
		if i == most {
			p.fault("And %d more unknown parameters.", len(unknown)-most)
			break
		}
		p.fault("%s: unknown parameter.", quote(name))
	}
	if len(p.faults) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, query.CodeValidation, "%s", strings.Join(p.faults, " "))
}

// quote shows a wrong value, in part when it is long.
func quote(s string) string {
	if len(s) > maxEcho {
		s = strings.ToValidUTF8(s[:maxEcho], "") + "…"
	}
	return strconv.QuoteToASCII(s)
}

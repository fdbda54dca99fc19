package wire

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

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
	linesForm   = regexp.MustCompile(`^([1-9][0-9]{0,8})-([1-9][0-9]{0,8})$`)
	integerForm = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,8})$`)
	wholeForm   = regexp.MustCompile(`^[1-9][0-9]?$`)
)

// form is what a text must look like.
type form struct {
	valid func(string) bool
	what  string // describes it
}

// forms are those of the texts that must have one, by the parameter.
var forms = map[string]form{
	"ean":          {regexp.MustCompile(`^[0-9]{8,14}$`).MatchString, "an EAN of 8 to 14 digits"},
	"pzn":          {regexp.MustCompile(`^[0-9]{8}$`).MatchString, "a PZN of 8 digits"},
	"asin":         {contracts.ValidASIN, "an ASIN of 10 capital letters or digits"},
	"asinLocale":   {contracts.ValidASINLocale, "a locale key like de or co.uk"},
	"site":         {validSite, "a site key"},
	"ownSite":      {validSite, "a site key"},
	"wait":         {regexp.MustCompile(`^([0-9]|1[0-9]|2[0-5])s$`).MatchString, "0s to 25s"},
	"silentFor":    {regexp.MustCompile(`^([1-9]|[1-9][0-9]|1[0-5][0-9]|16[0-8])h$`).MatchString, "a number of whole hours, 1h to 168h"},
	"price":        {regexp.MustCompile(`^[0-9]{1,14}(\.[0-9]{1,4})?$`).MatchString, "an amount like 12.34"},
	"percent":      {wholeForm.MatchString, "a whole number from 1 to 99"},
	"confirm":      {wholeForm.MatchString, "a whole number from 1 to 99"},
	"rearmPercent": {wholeForm.MatchString, "a whole number from 1 to 99"},
}

func validSite(s string) bool { return contracts.SiteKey(s).Valid() }

// Params decodes the parameters of a request, strictly: those that an operation
// reads are the only ones it knows. Read all of them, then check Err: it names
// every fault at once, including parameters that were not read.
type Params struct {
	values url.Values
	order  *string // orderId of a path
	item   string  // itemId of a path
	names  []string
	read   map[string]bool
	quoted map[string]bool // texts where JSON also has numbers
	faults []string
	wrong  map[string]bool // parameters with a fault
}

// standInSite is used if it is not known what the request covers, so that it is
// not also refused for having no selector.
const standInSite contracts.SiteKey = "x"

// FromQuery returns the parameters of a query string.
func FromQuery(rawQuery string) *Params {
	p := &Params{read: map[string]bool{}}
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		p.fault("The query string is malformed: a wrong percent-encoding or a semicolon.")
	}
	p.values = values
	return p
}

// InOrder records that the path of the request names an order.
func (p *Params) InOrder(orderID string) *Params {
	p.order = &orderID
	return p
}

// OfItem records that the path of the request names an item.
func (p *Params) OfItem(itemID string) *Params {
	p.item = itemID
	return p
}

// Names returns the parameters that were read, in that order.
func (p *Params) Names() []string { return slices.Clone(p.names) }

// ParametersOf returns the parameters that a decoder reads. The decoder runs on
// parameters that are faulty from the start, so that an Operation ends when it
// checks them.
func ParametersOf(decode func(*Params)) []string {
	p := &Params{read: map[string]bool{}, faults: []string{"Not a request."}}
	decode(p)
	return p.names
}

// Given reports whether the request has a parameter.
func (p *Params) Given(name string) bool { return len(p.values[name]) > 0 }

// One sets the limit to 1 if the request has no limit or a valid one; any other
// limit stays, to be refused.
func (p *Params) One(most int) *Params {
	given := p.values["limit"]
	if len(given) == 0 {
		p.values.Set("limit", "1")
	} else if n, err := strconv.Atoi(given[0]); err == nil && len(given) == 1 && integerForm.MatchString(given[0]) && n >= 1 && n <= most {
		p.values.Set("limit", "1")
	}
	return p
}

func (p *Params) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// faultOf adds a fault of one parameter.
func (p *Params) faultOf(name, format string, args ...any) {
	if p.wrong == nil {
		p.wrong = map[string]bool{}
	}
	p.wrong[name] = true
	p.fault("%s: "+format, append([]any{name}, args...)...)
}

// faulty reports whether any of the given parameters has a fault.
func (p *Params) faulty(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return p.wrong[name] })
}

// Wrong reports whether a parameter that was read has a fault. Its value is
// then not one that the caller gave.
func (p *Params) Wrong() bool { return len(p.wrong) > 0 }

// unknown reports whether the request has parameters that were not read.
func (p *Params) unknown() bool { return len(p.strangers()) > 0 }

func (p *Params) strangers() (names []string) {
	for name := range p.values {
		if !p.read[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// raw returns the single value of a parameter; ok is false if it is missing or
// wrong.
func (p *Params) raw(name string, limit int) (value string, ok bool) {
	if !p.read[name] {
		p.read[name] = true
		p.names = append(p.names, name)
	}
	given := p.values[name]
	switch {
	case len(given) == 0:
		return "", false
	case len(given) > 1:
		p.faultOf(name, "given %d times.", len(given))
		return "", false
	}
	value = given[0]
	switch {
	case value == "":
		p.faultOf(name, "empty.")
	case len(value) > limit:
		p.faultOf(name, "longer than %d bytes.", limit)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		p.faultOf(name, "not printable UTF-8.")
	default:
		return value, true
	}
	return "", false
}

// text reads a text. It returns it in NFC, as searchable texts are stored, or
// as it is if it must have a form; for one that is wrong then, what was given
// or a text that stands for it.
func (p *Params) text(name string) string {
	value, ok := p.raw(name, maxTextBytes)
	form, formed := forms[name]
	switch {
	case !formed:
		return norm.NFC.String(value)
	case !ok && p.wrong[name]:
		return "?"
	case ok && !form.valid(value):
		p.faultOf(name, "%s is not %s.", Quote(value), form.what)
	}
	return value
}

func (p *Params) cursor() string {
	value, _ := p.raw("cursor", maxCursorBytes)
	return value
}

func (p *Params) site() contracts.SiteKey { return contracts.SiteKey(p.text("site")) }

func (p *Params) limit() *int { return p.integer("limit") }

// integer reads a whole number; nil: not given, or wrong.
func (p *Params) integer(name string) *int {
	value, ok := p.raw(name, maxTextBytes)
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(value)
	if err == nil && p.quoted[name] {
		p.fault("%s: %s is a text. Send the number %d.", name, Quote(value), n)
		return nil
	}
	if err != nil || !integerForm.MatchString(value) {
		p.fault("%s: %s is not an integer.", name, Quote(value))
		return nil
	}
	return &n
}

// lines reads a range like 11-200, counted from 1; zeros: not given, or wrong.
func (p *Params) lines(name string) (from, to int) {
	value, ok := p.raw(name, maxTextBytes)
	if !ok {
		return 0, 0
	}
	if parts := linesForm.FindStringSubmatch(value); parts != nil {
		from, _ = strconv.Atoi(parts[1])
		to, _ = strconv.Atoi(parts[2])
	}
	if from == 0 || from > to {
		p.fault("%s: %s is not a range of lines like 1-200.", name, Quote(value))
		return 0, 0
	}
	return from, to
}

// choice reads true or false; nil: not given, or wrong.
func (p *Params) choice(name string) *bool {
	value, ok := p.raw(name, maxTextBytes)
	if !ok {
		return nil
	}
	if value != "true" && value != "false" {
		p.faultOf(name, "%s is neither true nor false.", Quote(value))
		return nil
	}
	if p.quoted[name] {
		p.faultOf(name, "%s is a text. Send the boolean %s.", Quote(value), value)
		return nil
	}
	yes := value == "true"
	return &yes
}

func (p *Params) flag(name string) bool {
	v := p.choice(name)
	return v != nil && *v
}

// id reads an id of any kind.
func id[T ~uint64](p *Params, name string) T {
	value, ok := p.raw(name, maxTextBytes)
	if !ok && p.wrong[name] {
		return 1 // a value was given
	}
	if !ok {
		return 0
	}
	parsed, err := contracts.ParseID[T](value)
	if err != nil {
		p.faultOf(name, "%s is not a decimal number from 1 to 18446744073709551615.", Quote(value))
		return 1 // a value was given
	}
	return parsed
}

// orderID reads the order from the path, or from the parameter if the path
// names none. Anything that is not an id becomes 0, the id of no order.
func (p *Params) orderID() contracts.OrderID {
	var value string
	if p.order != nil {
		value = *p.order
	} else {
		given, ok := p.raw("orderId", maxTextBytes)
		if !ok && len(p.values["orderId"]) == 0 {
			p.fault("orderId: missing.")
		}
		value = given
	}
	id, err := contracts.ParseID[contracts.OrderID](value)
	if err != nil {
		return 0
	}
	return id
}

// Err returns every fault of the parameters as one error.
func (p *Params) Err() error {
	unknown := p.strangers()
	const most = 5
	for i, name := range unknown {
		if i == most {
			p.fault("And %d more unknown parameters.", len(unknown)-most)
			break
		}
		p.fault("%s: unknown parameter.", Quote(name))
	}
	if len(p.faults) == 0 {
		return nil
	}
	return p.named(fault.New(fault.Invalid, query.CodeValidation, "%s", strings.Join(p.faults, " ")))
}

// refused returns a refusal of the parameters, including the other faults of
// the request that was built from them; nil: the parameters have no faults.
func (p *Params) refused(request interface{ Faults(form error) error }) error {
	if err := p.Err(); err != nil {
		return p.named(request.Faults(err))
	}
	return nil
}

// named adds to a refusal the parameters that were not read.
func (p *Params) named(refusal error) error {
	if unknown := p.strangers(); len(unknown) > 0 {
		return &Unknown{error: refusal, Names: unknown, Known: p.Names()}
	}
	return refusal
}

// Unknown is a refusal of a request with parameters that were not read.
type Unknown struct {
	error
	Names, Known []string
}

func (u *Unknown) Unwrap() error { return u.error }

// Quote shows a wrong value, truncated if it is long.
func Quote(s string) string {
	if len(s) > maxEcho {
		s = strings.ToValidUTF8(s[:maxEcho], "") + "…"
	}
	return strconv.QuoteToASCII(s)
}

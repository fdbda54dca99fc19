package maps

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// amountText matches an amount with marks before or after it.
var amountText = regexp.MustCompile(`^([^\d.,+-]*?)\s*([+-]?\d[\d.,'’\x{a0}\x{202f} ]*?)\s*([^\d.,+-]*)$`)

func isAmount(s string) bool { return amountText.MatchString(s) }

// amountForm is how the amounts of a column are written.
type amountForm struct {
	decimal, thousands string
	strip              []string
	currencies         map[string]int // how many amounts name each
	ambiguous          string         // a value whose mark may be either; empty: there is none
}

// amountsOf finds the form of amounts: a mark that comes last of two, or not
// before exactly three digits, is the decimal mark; one that comes several
// times, or before the decimal mark, separates the thousands.
func amountsOf(values []string) amountForm {
	f := amountForm{currencies: map[string]int{}}
	votes := map[string]int{}
	groups := map[string]bool{}
	for _, v := range values {
		m := amountText.FindStringSubmatch(v)
		if m == nil {
			continue
		}
		for _, mark := range []string{strings.TrimSpace(m[1]), strings.TrimSpace(m[3])} {
			if mark != "" && !slices.Contains(f.strip, mark) {
				f.strip = append(f.strip, mark)
			}
			if c := currencyOf(mark); c != "" {
				f.currencies[c]++
			}
		}
		number := m[2]
		for _, space := range []string{" ", "\u00a0", "\u202f", "'", "’"} {
			if strings.Contains(number, space) {
				groups[space] = true
				number = strings.ReplaceAll(number, space, "")
			}
		}
		i := strings.LastIndexAny(number, ".,")
		if i < 0 {
			continue
		}
		mark, behind := number[i:i+1], len(number)-i-1
		other := map[string]string{".": ",", ",": "."}[mark]
		switch {
		case strings.Contains(number, other): // 1.234,50
			votes[mark] += 100
			groups[other] = true
		case strings.Count(number, mark) > 1: // 1.234.567
			votes[other] += 100
			groups[mark] = true
		case behind != 3:
			votes[mark]++
		default: // 1.234
			f.ambiguous = v
		}
	}
	f.decimal = "."
	if votes[","] > votes["."] {
		f.decimal = ","
	}
	for _, mark := range []string{".", ",", "'", "’", "\u00a0", "\u202f", " "} {
		if groups[mark] && mark != f.decimal {
			f.thousands = mark
			break
		}
	}
	if f.ambiguous != "" && f.thousands == "" && votes[f.decimal] > 0 {
		f.ambiguous = ""
		f.thousands = map[string]string{".": ",", ",": "."}[f.decimal]
	}
	if f.thousands != "" {
		f.ambiguous = ""
	}
	return f
}

// nothingToPay are words for an amount of zero.
var nothingToPay = []string{"kostenlos", "kostenfrei", "versandkostenfrei", "gratis", "frei", "free", "free shipping", "inklusive", "inkl.", "gratuit", "gratuito"}

// noAmount are texts that stand for a missing amount.
var noAmount = []string{"-", "--", "–", "—", "n/a", "na", "nan", "null", "none", "nil", "k.A.", "k. A.", "keine Angabe"}

// wordsOf returns those of the values that are among the words, regardless of
// case.
func wordsOf(values, words []string) (found []string) {
	for _, v := range values {
		if slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, v) }) {
			found = append(found, v)
		}
	}
	return found
}

// amountShare returns the fraction of the values that are amounts, ignoring
// those that stand for a missing amount.
func amountShare(values []string, ok func(string) bool) float64 {
	none := wordsOf(values, noAmount)
	return share(slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(none, v) }), ok)
}

// timeForm is how the times of a column are written.
type timeForm struct {
	name   string // as in a mapping
	zoned  bool
	day    bool // without a time of day
	number bool
	swap   string // the form with day and month swapped, if it fits all of them too
}

// timeForms are tried in this order; day before month where both fit.
var timeForms = []timeForm{
	{name: "rfc3339", zoned: true},
	{name: "datetime"},
	{name: "2006-01-02 15:04"},
	{name: "2006-01-02T15:04"},
	{name: "2006-01-02T15:04:05.000"},
	{name: "2006-01-02 15:04:05.000"},
	{name: "day", day: true},
	{name: "2.1.2006 15:04:05"},
	{name: "2.1.2006 15:04"},
	{name: "2.1.2006, 15:04"},
	{name: "2.1.2006, 15:04:05"},
	{name: "2.1.2006", day: true},
	{name: "2.1.06 15:04"},
	{name: "2.1.06", day: true},
	{name: "2/1/2006 15:04:05", swap: "1/2/2006 15:04:05"},
	{name: "2/1/2006 15:04", swap: "1/2/2006 15:04"},
	{name: "2/1/2006 3:04:05 PM", swap: "1/2/2006 3:04:05 PM"},
	{name: "2/1/2006 3:04 PM", swap: "1/2/2006 3:04 PM"},
	{name: "2/1/2006", day: true, swap: "1/2/2006"},
	{name: "1/2/2006 15:04:05"},
	{name: "1/2/2006 15:04"},
	{name: "1/2/2006 3:04:05 PM"},
	{name: "1/2/2006 3:04 PM"},
	{name: "1/2/2006", day: true},
	{name: "2006/01/02 15:04:05"},
	{name: "2006/01/02", day: true},
	{name: "2-1-2006", day: true, swap: "1-2-2006"},
	{name: "2 Jan 2006 15:04"},
	{name: "2 Jan 2006", day: true},
	{name: "Jan 2, 2006", day: true},
	{name: "Jan 2, 2006 3:04 PM"},
	{name: "Jan 2, 2006, 3:04 PM"},
	{name: "January 2, 2006", day: true},
	{name: "2 January 2006", day: true},
	{name: "20060102", day: true},
	{name: "unix", zoned: true, number: true},
	{name: "unixMillis", zoned: true, number: true},
}

// formsOf finds the forms in which at least nine of ten values are times, the
// most common one first; nil: there are none.
func formsOf(values []string) []timeForm {
	var forms []timeForm
	rest, read := values, 0
	for len(rest) > 0 && len(forms) < 4 {
		f, n := commonest(rest, forms)
		if n == 0 || len(forms) > 0 && 2*n < len(rest) {
			break
		}
		read += n
		forms = append(forms, f)
		rest = slices.DeleteFunc(slices.Clone(rest), f.reads)
	}
	if 10*read < 9*len(values) {
		return nil
	}
	return forms
}

// commonest returns the form that fits the most values, and how many: the first
// if several fit as many. Alongside a form with slashes it does not return one
// with day and month swapped.
func commonest(values []string, used []timeForm) (best timeForm, most int) {
	for _, f := range timeForms {
		if strings.Contains(f.name, "/") && slices.ContainsFunc(used, func(b timeForm) bool { return strings.Contains(b.name, "/") && b.name[:3] != f.name[:3] }) {
			continue
		}
		n := 0
		for _, v := range values {
			if f.reads(v) {
				n++
			}
		}
		if n <= most {
			continue
		}
		swapped := timeForm{name: f.swap}
		if f.swap != "" && slices.ContainsFunc(values, func(v string) bool { return f.reads(v) && !swapped.reads(v) }) {
			f.swap = ""
		}
		best, most = f, n
	}
	return best, most
}

// formOf returns the form of the most values; nil: none fits, or too few values
// have a known form.
func formOf(values []string) *timeForm {
	forms := formsOf(values)
	if len(forms) == 0 {
		return nil
	}
	return &forms[0]
}

// reads reports whether a text is a time in the form, in this century.
func (f *timeForm) reads(s string) bool {
	t := Time{}
	named, ok := namedLayouts[f.name]
	if !ok {
		named = []layout{{form: f.name}}
	}
	t.layouts = named
	t.dayTime = 12 * time.Hour
	m, why := t.parse(s, time.UTC)
	return why == nil && m.ms > time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() && m.ms < time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
}

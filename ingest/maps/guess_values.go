package maps

import (
	"regexp"
	"slices"
	"strings"
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
func amountsOf(texts []string) amountForm {
	f := amountForm{currencies: map[string]int{}}
	votes := map[string]int{}
	groups := map[string]bool{}
	for _, v := range texts {
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

// amountShare returns the fraction of the texts that are amounts, ignoring those
// that stand for a missing amount.
func amountShare(texts []string, ok func(string) bool) float64 {
	none := wordsOf(distinct(texts), noAmount)
	return share(slices.DeleteFunc(slices.Clone(texts), func(v string) bool { return slices.Contains(none, v) }), ok)
}

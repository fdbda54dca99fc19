package maps

import (
	"regexp"
	"slices"
	"strings"

	"preismon/contracts"
)

// amountText matches an amount with marks before or after it, like "Fr. 12.50" and
// "12,- €".
var amountText = regexp.MustCompile(`^((?:[^\d.,+-]|\pL\.)*?)\s*([+-]?\d[\d.,'’\x{a0}\x{202f} ]*?)([.,][-–—]{1,2})?\s*((?:[^\d.,+-]|\pL\.)*)$`)

func isAmount(s string) bool { return amountText.MatchString(s) }

// amountForm is how the amounts of a column are written.
type amountForm struct {
	decimal, thousands string
	strip              []string
	dashes             []string          // in place of decimals that are zero, like ",-"
	currencies         map[string]int    // how many amounts name each
	three              map[string]string // by mark, an amount with three digits behind it, which may be thousands
	settled            bool              // an amount shows which mark is which
}

// amountsOf finds the form of amounts: a mark that comes last of two, or not
// before exactly three digits, is the decimal mark; one that comes several
// times, or before the decimal mark, separates the thousands. If nothing shows
// it, three digits are thousands: few currencies have three decimals.
func amountsOf(texts []string) amountForm {
	f := amountForm{currencies: map[string]int{}, three: map[string]string{}}
	votes, thousands := map[string]int{}, map[string]int{}
	groups := map[string]bool{}
	for _, v := range texts {
		m := amountText.FindStringSubmatch(v)
		if m == nil {
			continue
		}
		if dashes := m[3]; dashes != "" {
			votes[dashes[:1]]++
			if !slices.Contains(f.dashes, dashes) {
				f.dashes = append(f.dashes, dashes)
			}
		}
		for _, mark := range []string{strings.TrimSpace(m[1]), strings.TrimSpace(m[4])} {
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
		other := otherMark[mark]
		switch whole := strings.TrimLeft(number[:i], "+-"); {
		case strings.Contains(number, other): // 1.234,50
			votes[mark] += 100
			groups[other] = true
		case strings.Count(number, mark) > 1: // 1.234.567
			votes[other] += 100
			groups[mark] = true
		case behind != 3 || len(whole) > 3 || strings.HasPrefix(whole, "0"):
			votes[mark]++
		default: // 1.234
			f.three[mark] = v
			thousands[mark]++
		}
	}
	if f.settled = len(votes) > 0; !f.settled {
		votes = map[string]int{".": thousands[","], ",": thousands["."]}
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
	if f.thousands == "" && f.three[otherMark[f.decimal]] != "" {
		f.thousands = otherMark[f.decimal]
	}
	return f
}

var otherMark = map[string]string{".": ",", ",": "."}

// settleAmounts reads three digits behind the only mark as decimals if the currency
// has as many, and reports what the marks are taken for where an amount may mean
// something else.
func (g *guesser) settleAmounts(f *amountForm, field string, digits int) {
	if !f.settled && digits == 3 && f.thousands != "" && f.three[f.thousands] != "" {
		f.decimal, f.thousands = f.thousands, ""
	}
	setting := "columns." + field + ".decimal and thousands"
	if doubtful := f.three[f.decimal]; doubtful != "" && (digits < 3 || !f.settled) {
		g.assume("%q has three digits behind the mark %q, which is assumed to be the decimal mark (%s)", doubtful, f.decimal, setting)
	}
	if !f.settled && f.three[f.thousands] != "" {
		g.assume("%q could have a thousands separator or a decimal mark: assuming that %q separates thousands (%s)", f.three[f.thousands], f.thousands, setting)
	}
}

// digitsOf returns how many decimals amounts have: of the currency of most rows, if
// a column names them, or of the one given.
func (g *guesser) digitsOf(currency string) int {
	rows, best := map[string]int{}, 0
	for _, mark := range g.of("currency") {
		if c := currencyOf(mark); contracts.Currency(c).Valid() {
			if rows[c]++; rows[c] > best {
				currency, best = c, rows[c]
			}
		}
	}
	return contracts.Currency(currency).Digits()
}

// nothingToPay are words for an amount of zero.
var nothingToPay = []string{"kostenlos", "kostenfrei", "versandkostenfrei", "gratis", "frei", "free", "free shipping", "inklusive", "inkl.", "gratuit", "gratuito"}

// noAmount are texts that stand for a missing amount.
var noAmount = []string{"-", "--", "–", "—", "n/a", "na", "nan", "null", "none", "nil", "k.A.", "k. A.", "keine Angabe"}

// wordsOf returns those of the values that are among the words.
func wordsOf(values, words []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !among(words, v) })
}

// amountShare returns the fraction of the texts that are amounts, ignoring those
// that stand for a missing amount.
func amountShare(texts []string, ok func(string) bool) float64 {
	return share(slices.DeleteFunc(slices.Clone(texts), func(v string) bool { return among(noAmount, v) }), ok)
}

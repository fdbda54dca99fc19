package maps

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"preismon/contracts"
)

// What a mark may name beside a currency that is known: one of several, or one
// that is not in the table.
const (
	crowns        = "kr"
	otherCurrency = "?"
)

// currencyMarks maps the marks next to amounts, in capitals, to currencies.
var currencyMarks = map[string]string{
	"€": "EUR", "EUR": "EUR", "EURO": "EUR", "$": "USD", "USD": "USD", "US$": "USD", "A$": "AUD", "AU$": "AUD", "C$": "CAD", "CA$": "CAD",
	"R$": "BRL", "HK$": "HKD", "NT$": "TWD", "NZ$": "NZD", "S$": "SGD", "MX$": "MXN",
	"£": "GBP", "GBP": "GBP", "CHF": "CHF", "FR": "CHF", "SFR": "CHF", "ZŁ": "PLN", "ZL": "PLN", "PLN": "PLN", "¥": "JPY", "JPY": "JPY",
	"KČ": "CZK", "KC": "CZK", "CZK": "CZK", "FT": "HUF", "LEI": "RON", "TL": "TRY", "РУБ": "RUB", "RM": "MYR",
	"₹": "INR", "RS": "INR", "₺": "TRY", "₽": "RUB", "₩": "KRW", "₪": "ILS", "฿": "THB", "₫": "VND", "₴": "UAH", "₱": "PHP",
	"SEK": "SEK", "DKK": "DKK", "NOK": "NOK", "KR": crowns,
}

// currencyOf returns the currency that a mark next to an amount names, alone or
// among others, like € in "€ *"; empty: none.
func currencyOf(mark string) string {
	if code := strings.TrimFunc(mark, func(r rune) bool { return !unicode.IsLetter(r) }); contracts.Currency(code).Valid() {
		return code
	}
	named := ""
	for word := range strings.FieldsFuncSeq(mark, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.Is(unicode.Sc, r) }) {
		if c := currencyMarks[strings.ToUpper(word)]; c != "" {
			return c
		}
		for _, r := range word {
			switch c := currencyMarks[string(r)]; {
			case !unicode.Is(unicode.Sc, r):
			case c == "" || r == '$': // many have a dollar
				named = otherCurrency
			default:
				return c
			}
		}
	}
	return named
}

// currency returns the currency that most of the amounts name; empty: none does.
func (f *amountForm) currency() string {
	best := ""
	for _, mark := range f.strip { // in the order of the file, in case of a tie
		if c := currencyOf(mark); f.currencies[c] > f.currencies[best] && contracts.Currency(c).Valid() {
			best = c
		}
	}
	return best
}

// only leaves those marks to be stripped that name no other currency, and
// returns the others.
func (f *amountForm) only(currency string) (others []string) {
	f.strip = slices.DeleteFunc(f.strip, func(mark string) bool {
		named := cmp.Or(currencyOf(mark), currency)
		if named == crowns && slices.Contains([]string{"SEK", "NOK", "DKK", "ISK"}, currency) {
			named = currency
		}
		if named != currency {
			others = append(others, mark)
		}
		return named != currency
	})
	return others
}

// wordsBeside returns the marks, in lower case, that say more about an amount than its
// currency, like "ab" or "€/Monat".
func (f *amountForm) wordsBeside() (words []string) {
	for _, mark := range f.strip {
		if mark = strings.ToLower(mark); !slices.Contains(words, mark) && (currencyOf(mark) == "" || hasWord(mark)) {
			words = append(words, mark)
		}
	}
	return words
}

// hasWord reports whether a mark has a word that names no currency.
func hasWord(mark string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToUpper(mark), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.Is(unicode.Sc, r) }) {
		if currencyMarks[word] == "" && !contracts.Currency(word).Valid() && strings.ContainsFunc(word, unicode.IsLetter) {
			return true
		}
	}
	return false
}

// assumeWords reports the words beside amounts, which are left out.
func (g *guesser) assumeWords(f *amountForm, field string) {
	words := f.wordsBeside()
	name := g.name(field)
	switch len(words) {
	case 0:
	case 1:
		g.assume("%q beside amounts in column %q is left out, and the amount read as the price (columns.%s.strip)", words[0], name, field)
	default:
		g.assume("%q beside amounts in column %q are left out, but mean different prices: without one of them in columns.%s.strip, its rows are rejected", words, name, field)
	}
}

// unnamedCurrency reports whether a row with a price has nothing in the column of
// currencies.
func (g *guesser) unnamedCurrency() bool {
	return slices.ContainsFunc(g.rows, func(row []string) bool {
		return strings.TrimSpace(row[g.columns["currency"]]) == "" && strings.TrimSpace(row[g.columns["price"]]) != ""
	})
}

// refuseOthers keeps amounts from being read that name another currency, since
// no column does.
func (g *guesser) refuseOthers(f *amountForm, field, currency string) {
	if others := f.only(currency); len(others) > 0 {
		g.assume("amounts with %q in column %q are rejected, because no column names the currency and only %s is read: put them into a separate file, or add a column of currencies (columns.currency)",
			others, g.name(field), currency)
	}
}

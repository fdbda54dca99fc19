package maps

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"preismon/contracts"
)

// read reads a text field: its column or columns, without blanks at the ends,
// translated by the value list, or the fixed value if they are empty.
func (t *Text) read(rec []string) string {
	clean := strings.TrimSpace
	if t.prose {
		clean = squeeze
	}
	var s string
	switch len(t.at) {
	case 0:
	case 1:
		s = clean(rec[t.at[0]])
	default:
		parts := make([]string, 0, len(t.at))
		for _, i := range t.at {
			if p := clean(rec[i]); p != "" {
				parts = append(parts, p)
			}
		}
		s = strings.Join(parts, t.Join)
	}
	if t.Host {
		s = hostOf(s)
	}
	if t.Values != nil {
		if v, ok := t.Values[s]; ok {
			s = v
		}
	}
	if s == "" {
		s = t.Value
	}
	if s == "" || t.Prefix == "" && t.Suffix == "" {
		return s
	}
	return t.Prefix + s + t.Suffix
}

// hostOf returns the host of a web address, without www.; any other text is
// returned unchanged.
func hostOf(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return s
	}
	return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
}

// squeeze reduces every run of blanks, tabs and line breaks to one blank, and
// removes those at the ends.
func squeeze(s string) string {
	blank := true // as if there was one before
	for _, r := range s {
		space := unicode.IsSpace(r)
		if space && (blank || r != ' ') {
			return strings.Join(strings.Fields(s), " ")
		}
		blank = space
	}
	return strings.TrimSuffix(s, " ")
}

// among reports whether a text is one of the words, regardless of case.
func among(words []string, text string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, text) })
}

// flag reads a yes or no; ok is false for a text in neither list.
func flag(g *Flag, v string) (f contracts.Flag, ok bool) {
	switch {
	case among(g.Yes, v):
		return contracts.FlagTrue, true
	case among(g.No, v):
		return contracts.FlagFalse, true
	}
	return contracts.FlagUnknown, v == ""
}

// available reads an availability, which may also be the quantity in stock; ok is
// false for another text in neither list.
func available(g *Flag, v string) (f contracts.Flag, ok bool) {
	if f, ok = flag(g, v); ok || g.codes || !isQuantity(v) {
		return f, ok
	}
	if strings.Trim(v, "0.,") == "" {
		return contracts.FlagFalse, true
	}
	return contracts.FlagTrue, true
}

// isQuantity reports whether a text is a number that is not negative.
func isQuantity(s string) bool {
	return s != "" && s[0] >= '0' && s[0] <= '9' && strings.Trim(s, "0123456789.,") == ""
}

// amountCauses are the reasons why an amount is rejected.
type amountCauses struct {
	what                     string
	form, decimals, fraction *cause
}

var (
	priceCauses    = amountCauses{"price", priceUnread, priceDecimals, priceFraction}
	shippingCauses = amountCauses{"shipping", shippingUnread, shippingDecimals, shippingFraction}
)

// read reads money; -1: none.
func (a *Amount) read(rec []string, cur contracts.Currency, line int, why *amountCauses) (int64, *rejection) {
	if a.at < 0 {
		return -1, nil
	}
	s := a.at.read(rec)
	if among(a.Zero, s) {
		return 0, nil
	}
	n, ok := plainAmountText(a, s)
	if n == "" && ok || among(a.Blank, s) {
		return -1, nil
	}
	if !ok {
		return 0, reject(line, why.form, "%s %q is not an amount", why.what, cut(s, 40))
	}
	if a.Minor {
		if strings.Contains(n, ".") {
			return 0, reject(line, why.fraction, "%s %q is not a whole number of the minor unit", why.what, cut(s, 40))
		}
		n = shift(n, cur.Digits())
	}
	m, err := contracts.ParseMoney(n, cur)
	if err != nil {
		wrong := why.form
		if _, frac, _ := strings.Cut(n, "."); len(strings.TrimRight(frac, "0")) > cur.Digits() {
			wrong = why.decimals
		}
		return 0, reject(line, wrong, "%s %q%s", why.what, cut(s, 40), strings.TrimPrefix(err.Error(), strconv.Quote(n))) // as the file has it
	}
	return m.AmountMinor, nil
}

// shift converts a whole number of minor units to the main unit.
func shift(n string, digits int) string {
	if digits == 0 {
		return n
	}
	if pad := digits + 1 - len(n); pad > 0 {
		n = strings.Repeat("0", pad) + n
	}
	return n[:len(n)-digits] + "." + n[len(n)-digits:]
}

// plainAmountText converts an amount to the form 1234.56; ok is false if its
// marks are not where the mapping says.
func plainAmountText(a *Amount, s string) (_ string, ok bool) {
	for _, junk := range a.Strip {
		s = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(s, junk), junk))
	}
	if a.Thousands != "" {
		whole, frac, found := strings.Cut(s, a.Decimal)
		if strings.Contains(frac, a.Thousands) {
			return "", false
		}
		if groups := strings.Split(whole, a.Thousands); len(groups) > 1 {
			for i, g := range groups {
				if len(g) != 3 && (i > 0 || len(g) == 0 || len(g) > 3) {
					return "", false
				}
			}
			whole = strings.Join(groups, "")
		}
		s = whole
		if found {
			s += a.Decimal + frac
		}
	}
	if a.Decimal == "," {
		if strings.Contains(s, ".") || strings.Count(s, ",") > 1 {
			return "", false
		}
		s = strings.Replace(s, ",", ".", 1)
	}
	return s, true
}

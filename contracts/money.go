package contracts

import (
	"fmt"
	"strconv"
	"strings"
)

// Money is an amount in the minor unit of its currency: EUR 12.34 is 1234,
// JPY 500 is 500, KWD 1.234 is 1234 (ISO 4217).
type Money struct {
	AmountMinor  int64
	CurrencyCode Currency
}

// MaxAmountMinor bounds every amount: the largest that a JSON number holds exactly.
const MaxAmountMinor = 1<<53 - 1

// AppendDecimal appends the amount in the currency's main unit with all of
// its minor digits: 12.34, 500, 1.234.
func (m Money) AppendDecimal(b []byte) []byte {
	return AppendMinor(b, m.AmountMinor, m.CurrencyCode.Digits())
}

// AppendMinor appends amount / 10^digits exactly, with all digits.
func AppendMinor(b []byte, amount int64, digits int) []byte {
	if digits == 0 {
		return strconv.AppendInt(b, amount, 10)
	}
	u := uint64(amount)
	if amount < 0 {
		b = append(b, '-')
		u = -u
	}
	pow := pow10[digits]
	b = strconv.AppendUint(b, u/pow, 10)
	b = append(b, '.')
	frac := u % pow
	for d := digits - 1; d > 0 && frac < pow10[d]; d-- {
		b = append(b, '0')
	}
	return strconv.AppendUint(b, frac, 10)
}

var pow10 = [...]uint64{1, 10, 100, 1_000, 10_000}

func (m Money) String() string {
	return string(m.AppendDecimal(nil)) + " " + string(m.CurrencyCode)
}

// ParseMoney parses a decimal text in the main unit ("12.34", "500") exactly.
// Digits beyond the minor unit are accepted only if they are zeros: nothing is
// rounded. Negative amounts and other notations are errors.
func ParseMoney(s string, c Currency) (Money, error) {
	if !c.Valid() {
		return Money{}, fmt.Errorf("%q is not an ISO 4217 currency code", string(c))
	}
	whole, frac, _ := strings.Cut(s, ".")
	digits := c.Digits()
	if len(frac) > digits {
		if strings.Trim(frac[digits:], "0") != "" {
			return Money{}, fmt.Errorf("%q has more than the %d decimal digits of %s", s, digits, c)
		}
		frac = frac[:digits]
	}
	if whole == "" && frac == "" || !allDigits(whole) || !allDigits(frac) {
		return Money{}, fmt.Errorf("%q is not an amount like 12.34", s)
	}
	n, err := strconv.ParseUint(whole+frac+strings.Repeat("0", digits-len(frac)), 10, 64)
	if err != nil || n > MaxAmountMinor {
		return Money{}, fmt.Errorf("%q is too large", s)
	}
	return Money{AmountMinor: int64(n), CurrencyCode: c}, nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

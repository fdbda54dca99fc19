package table

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"preismon/query/frame"
)

// decimals are those of an amount, made once for it and its money.
type decimals struct {
	none   bool      // numbers stay as they are
	floats []float64 // nil: none of them are known
	ints   []int64
	digits []uint8
}

func (a *arrowValues) numbers(v *frame.Vector, all []float64) error {
	if v.Floats = nil; a.made.none {
		v.Floats = all
		return nil
	}
	if m := a.made; m.floats != nil && bytes.Equal(arrow.Float64Traits.CastToBytes(m.floats), arrow.Float64Traits.CastToBytes(all)) {
		v.Ints, v.Digits = m.ints, m.digits
		return nil
	}
	a.made.floats, a.ints, a.digits = all, a.ints[:0], a.digits[:0]
	for i, f := range all {
		units, digits, ok := decimalOf(f)
		if !ok && v.Has(i) {
			return fmt.Errorf("table: %s cannot be %v", a.Name, f)
		}
		if !ok {
			a.made.floats = nil
		}
		a.ints, a.digits = append(a.ints, units), append(a.digits, digits)
	}
	v.Ints, v.Digits = a.ints, a.digits
	a.made.ints, a.made.digits = v.Ints, v.Digits
	return nil
}

// isMoneyOf reports whether the column repeats an amount, with its currency.
func (a *arrowValues) isMoneyOf(amount *arrowValues) bool {
	return amount.Kind == frame.Number && a.Kind == frame.Object && a.Name == amount.Name+"Money"
}

// align gives decimals as many places as the currency has, by the same amount
// in minor units among the members of the object: Parquet's writer keeps both in
// one dictionary, from which it takes the least and the greatest of either.
func (a *arrowValues) align(v *frame.Vector, members []frame.Vector) {
	at := slices.IndexFunc(a.members, func(m *arrowValues) bool { return m.Kind == frame.Integer && m.Name == "amountMinor" })
	if at < 0 {
		return
	}
	equal := true
	for i, minor := range members[at].Ints {
		for units, digits := v.Ints[i], v.Digits[i]; v.Ints[i] != minor && units != 0 && digits < maxMinorDigits; {
			units, digits = units*10, digits+1
			if units == minor {
				v.Ints[i], v.Digits[i] = units, digits
			}
		}
		equal = equal && v.Ints[i] == minor
	}
	if equal { // by which writers see that the values are the same
		members[at].Ints = v.Ints
	}
}

// maxMinorDigits is how many decimal places a currency has at most.
const maxMinorDigits = 4

// decimalOf returns the decimal with the fewest places of which a number is the
// nearest double; false: there is none with 18 digits.
func decimalOf(f float64) (units int64, digits uint8, ok bool) {
	const exact = 1 << 53
	scale := 1.0
	for digits = range 4 { // of most currencies and of ratings
		if scaled := math.Round(f * scale); math.Abs(scaled) <= exact && frame.Float(int64(scaled), digits) == f {
			return int64(scaled), digits, true
		}
		scale *= 10
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	whole, decimals, _ := strings.Cut(text, ".")
	units, err := strconv.ParseInt(whole+decimals, 10, 64)
	return units, uint8(len(decimals)), err == nil
}

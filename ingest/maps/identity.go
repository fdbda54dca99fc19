package maps

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"preismon/contracts"
)

// eanClass is what a text in a column of EANs turned out to be.
type eanClass uint8

const (
	eanNone eanClass = iota
	eanValid
	eanPadded    // 11 digits, valid as GTIN-12 with the zero that was lost
	eanInStore   // correct, but assigned by each shop as it likes
	eanBadDigit  // right length, wrong check digit
	eanBadLength // digits, of another length
	eanNoDigits  // no number at all
)

// classifyEAN reads a GTIN; gtin is empty if it is none. A restricted
// circulation number is a GTIN, but not a worldwide product number: it can be
// searched for, but does not identify the items of two sites with each other.
func classifyEAN(s string, padTo12 bool) (gtin string, class eanClass) {
	class = eanValid
	// One in ten random numbers has a valid check digit by chance, so zeros are
	// added only if the mapping knows that they were lost.
	if padTo12 && len(s) == 11 && contracts.ValidEAN("0"+s) {
		s, class = "0"+s, eanPadded
	}
	switch {
	case s == "":
		return "", eanNone
	case !isDigits(s):
		return "", eanNoDigits
	case !slices.Contains(eanLengths, len(s)):
		return "", eanBadLength
	case !contracts.ValidEAN(s):
		return "", eanBadDigit
	case inStore(gtin14(s)):
		return s, eanInStore
	}
	return s, class
}

// gtin14 returns the form in which GTINs of different lengths are compared:
// padded with zeros to 14 digits (GS1 General Specifications, 3.3.2).
func gtin14(s string) string { return "00000000000000"[:14-len(s)] + s }

// inStore reports whether g is a restricted circulation number: GS1 prefixes
// 02, 04 and 2 of a GTIN-13, and 0 and 2 of a GTIN-8 (GS1 General
// Specifications, 1.4.3 and 1.4.4). Two sites use the same one for different
// products.
func inStore(g string) bool {
	if strings.HasPrefix(g, "000000") {
		return g[6] == '0' || g[6] == '2'
	}
	return g[1] == '2' || g[1] == '0' && (g[2] == '2' || g[2] == '4')
}

// classifyPZN reads a PZN, with or without its prefix; padded reports that
// leading zeros were restored.
func classifyPZN(s string, pad bool) (pzn string, padded, ok bool) {
	s = withoutPrefix(s)
	if pad && len(s) < 8 && len(s) >= 4 {
		s, padded = "00000000"[:8-len(s)]+s, true
	}
	return s, padded, contracts.ValidPZN(s) && !zeros(s)
}

// withoutPrefix returns a PZN without the letters before it.
func withoutPrefix(pzn string) string {
	if len(pzn) > 3 && strings.EqualFold(pzn[:3], "pzn") {
		return strings.TrimLeft(pzn[3:], " -:")
	}
	return pzn
}

// zeros reports whether a number is only a placeholder for one, although the
// check digit of zeros is right.
func zeros(number string) bool { return strings.Trim(withoutPrefix(number), "0") == "" }

var scientific = regexp.MustCompile(`^\d+(?:[.,](\d+))?[eE]\+?(\d{1,2})$`)

// rounded reports whether a number, like 4,00638E+12, has fewer digits than it
// had before a spreadsheet saved it: several products may have the same.
func rounded(number string) bool {
	m := scientific.FindStringSubmatch(number)
	if m == nil {
		return false
	}
	exponent, _ := strconv.Atoi(m[2])
	return len(m[1]) < exponent
}

// ownKey returns an EAN or a PZN as a site's own key; empty: it tells no products
// apart.
func ownKey(number string) string {
	if zeros(number) || rounded(number) {
		return ""
	}
	return number
}

// eanLengths are the lengths in which a GTIN can be written; the later, the more
// suitable for display.
var eanLengths = []int{8, 14, 12, 13}

// eanRank ranks GTINs by how suitable their lengths are for display.
func eanRank(s string) int { return slices.Index(eanLengths, len(s)) }

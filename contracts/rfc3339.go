package contracts

// IsRFC3339 reports whether s has the form of an instant in RFC 3339, in upper
// case; whether the date exists is left to the time package. That package
// accepts some other forms too (T4:05:06, a decimal comma, offsets of 24 hours:
// https://go.dev/issue/54580).
func IsRFC3339(s string) bool {
	like := func(s, form string) bool {
		for i := range len(form) {
			if form[i] == '0' && (s[i] < '0' || s[i] > '9') || form[i] != '0' && s[i] != form[i] {
				return false
			}
		}
		return true
	}
	const form = "0000-00-00T00:00:00"
	if len(s) <= len(form) || !like(s, form) {
		return false
	}
	zone := s[len(form):]
	if zone[0] == '.' {
		n := 1
		for n < len(zone) && zone[n] >= '0' && zone[n] <= '9' {
			n++
		}
		if n == 1 {
			return false
		}
		zone = zone[n:]
	}
	return zone == "Z" || len(zone) == 6 && (like(zone, "+00:00") || like(zone, "-00:00")) && zone[1:3] <= "23" && zone[4:] <= "59"
}

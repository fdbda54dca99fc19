package objects

import "time"

// instant reads a time of the contract, 2026-03-01T09:30:00.250+01:00, as
// milliseconds since 1970 in UTC. Rows have one each, so their form has a
// reader of its own; another form of RFC 3339 is left to package time.
func instant(b []byte) (ms int64, ok bool) {
	const form = "2006-01-02T15:04:05.000"
	if len(b) < len(form)+1 {
		return slowInstant(b)
	}
	for i := range len(form) {
		if digit := form[i] >= '0' && form[i] <= '9'; digit && (b[i] < '0' || b[i] > '9') || !digit && b[i] != form[i] {
			return slowInstant(b)
		}
	}
	zone, sign := b[len(form):], int64(0)
	switch {
	case len(zone) == 1 && zone[0] == 'Z':
	case len(zone) == 6 && zone[3] == ':' && digits(zone[1:3]) && digits(zone[4:6]):
		sign = 1
		if zone[0] == '-' {
			sign = -1
		} else if zone[0] != '+' {
			return 0, false
		}
	default:
		return slowInstant(b)
	}
	year, month, day := number(b[:4]), number(b[5:7]), number(b[8:10])
	hour, minute, second := number(b[11:13]), number(b[14:16]), number(b[17:19])
	t := time.Date(int(year), time.Month(month), int(day), int(hour), int(minute), int(second), 0, time.UTC)
	if month < 1 || month > 12 || t.Day() != int(day) || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	ms = t.UnixMilli() + number(b[20:23])
	if sign != 0 {
		ms -= sign * (number(zone[1:3])*60 + number(zone[4:6])) * 60_000
	}
	return ms, true
}

func slowInstant(b []byte) (int64, bool) {
	t, err := time.Parse(time.RFC3339Nano, string(b))
	return t.UnixMilli(), err == nil
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// number is the number that digits make.
func number(b []byte) (n int64) {
	for _, c := range b {
		n = n*10 + int64(c-'0')
	}
	return n
}

package objects

import "time"

// instant parses a time of the contract, 2026-03-01T09:30:00.250+01:00, into
// milliseconds since 1970 in UTC.
func instant(b []byte) (ms int64, ok bool) {
	t, err := time.Parse(time.RFC3339Nano, string(b))
	return t.UnixMilli(), err == nil
}

package main

import (
	"regexp"
	"strconv"
	"time"
)

// instant is a flag for a time that the server parses. Hours or days ago, like
// now-24h or now-7d, become a time here, once: all requests of a command have the
// same one.
type instant string

func (i *instant) UnmarshalText(text []byte) error {
	*i = instant(agoOr(string(text), time.Now()))
	return nil
}

var ago = regexp.MustCompile(`^now-([1-9][0-9]{0,3})([hd])$`)

// agoOr returns the time that is so many hours or days before now; any other text
// stays as it is.
func agoOr(text string, now time.Time) string {
	match := ago.FindStringSubmatch(text)
	if match == nil {
		return text
	}
	n, _ := strconv.Atoi(match[1]) // four digits
	unit := map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour}[match[2]]
	return rfc3339(now.Add(-time.Duration(n) * unit))
}

// rfc3339 returns a time as the server returns it.
func rfc3339(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

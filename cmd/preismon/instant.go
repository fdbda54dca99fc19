package main

import (
	"time"

	"preismon/cmd/preismon/client"
	"preismon/contracts"
)

// instant is a flag for a time that the server parses. Hours or days ago, like
// now-24h or now-7d, become a time here, once: all requests of a command have the
// same one.
type instant string

func (i *instant) UnmarshalText(text []byte) error {
	*i = instant(agoOr(string(text), time.Now()))
	return nil
}

// agoOr returns the time that is so many hours or days before now; any other text
// stays as it is.
func agoOr(text string, now time.Time) string {
	if at, ok := contracts.Ago(text, now); ok {
		return client.Instant(at)
	}
	return text
}

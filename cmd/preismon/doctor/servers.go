package doctor

import (
	"strings"
	"sync"
)

// each asks all servers at the same time, so one that is silent keeps no other
// from being asked, and returns what they said in the order of servers.
func each[T any](servers []string, ask func(at string) T) []T {
	said := make([]T, len(servers))
	var all sync.WaitGroup
	for i, at := range servers {
		all.Go(func() { said[i] = ask(strings.TrimRight(at, "/")) })
	}
	all.Wait()
	return said
}

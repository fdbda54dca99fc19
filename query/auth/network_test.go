package auth_test

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/query/auth"
)

// addressIn returns the key of one address in a /48.
func addressIn(network, host int) string {
	return auth.AddressKey(netip.MustParseAddr(fmt.Sprintf("2001:db8:%x:%x::1", network, host)))
}

// An IPv6 network may send sixteen times as many requests as one of its
// addresses, and cannot fill the bucket with addresses and made-up logins:
// nodes still count together. Another network is not affected. RATE-01.
func TestOneNetworkDoesNotFillTheBucket(t *testing.T) {
	t.Parallel() // it mostly waits
	address := testserver.NATS(t)
	limits := limitsOf(20, time.Hour)
	limits.Attempts = auth.Rate{Requests: 10, Per: time.Hour}
	small := func(c *auth.SharedConfig) { c.MaxBytes = 256 << 10 }
	one, _ := counters(t, address, limits, small)
	two, _ := counters(t, address, limits, small)
	granted, asked := 0, 0
	for host := range 600 { // of 65,536 hosts, each with its own logins
		for try := range 5 {
			asked++
			if _, err := one.Attempt(addressIn(1, host), fmt.Sprintf("nobody-%d-%d", host, try)); err == nil {
				granted++
			}
		}
	}
	if granted != 160 {
		t.Errorf("%d of %d attempts were granted", granted, asked)
	}
	anonymous := 0
	for host := range 1000 {
		if _, err := two.Anonymous(addressIn(1, host)); err == nil {
			anonymous++
		}
	}
	if anonymous != 320 {
		t.Errorf("%d requests were granted", anonymous)
	}
	if one.Stats().Alone || two.Stats().Alone {
		t.Error("a node counts alone")
	}
	if _, err := one.Attempt(addressIn(2, 1), "somebody"); err != nil {
		t.Errorf("another network: %v", err)
	}
	countTogether(t, one, two, 1)
}

// countTogether counts requests of an account on two nodes at the same time:
// together they grant the limit of 20, not each.
func countTogether(t *testing.T, one, two *auth.Throttle, account contracts.AccountID) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	granted := 0
	for _, node := range []*auth.Throttle{one, two} {
		all.Go(func() {
			for range 60 {
				if _, err := node.Read(account); err == nil {
					mu.Lock()
					granted++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	if granted > 20 {
		t.Errorf("two nodes granted %d requests of 20", granted)
	}
}

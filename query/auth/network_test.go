package auth_test

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
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

// Requests that an address's own limit refuses do not count for its network:
// one customer cannot keep the others of a /48 out. RATE-01.
func TestRefusedRequestsDoNotCountForTheNetwork(t *testing.T) {
	t.Parallel()
	limits := limitsOf(10, time.Hour)
	limits.Attempts = auth.Rate{Requests: 10, Per: time.Hour}
	alone := must.Get(auth.NewThrottle(limits, time.Now))(t)
	shared, _ := counters(t, testserver.NATS(t), limits)
	for name, throttle := range map[string]*auth.Throttle{"alone": alone, "shared": shared} {
		for what, take := range map[string]func(address string) (auth.Quota, error){
			"anonymous": throttle.Anonymous,
			"address":   func(address string) (auth.Quota, error) { return throttle.Attempt(address, "") },
		} {
			granted := 0
			for range 200 {
				q, err := take(addressIn(1, 1))
				if err == nil {
					granted++
				}
				if q.Policy != what || q.Limit != 10 {
					t.Fatalf("%s: the limit %q of %d", name, q.Policy, q.Limit)
				}
			}
			if granted != 10 {
				t.Errorf("%s, %s: %d requests of one address were granted", name, what, granted)
			}
			if _, err := take(addressIn(1, 2)); err != nil {
				t.Errorf("%s, %s: another address of the network: %v", name, what, err)
			}
		}
	}
}

// A client that obeys Remaining is not refused: it is the tighter of what the
// address and its network have left, under the published name and limit.
// RATE-01, choices 34.
func TestRemainingOfANetwork(t *testing.T) {
	t.Parallel()
	limits := limitsOf(10, time.Hour)
	now := time.Now()
	throttle := must.Get(auth.NewThrottle(limits, func() time.Time { return now }))(t)
	var last auth.Quota
	for host := range 32 {
		for range 5 {
			last = must.Get(throttle.Anonymous(addressIn(1, host)))(t)
		}
		now = now.Add(time.Second)
	}
	want := auth.Quota{Policy: "anonymous", Limit: 10, Window: time.Hour, Reset: now.Add(time.Hour - 32*time.Second), Wait: time.Hour - 31*time.Second}
	if last != want {
		t.Errorf("the last that was granted: %+v, want %+v", last, want)
	}
	want.Wait -= time.Second
	if refused, err := throttle.Anonymous(addressIn(1, 40)); err == nil || refused != want {
		t.Errorf("another: %+v %v, want %+v", refused, err, want)
	}
}

// Of two quotas with nothing left, the one that is available again later counts.
// RATE-01.
func TestLaterOfTwoQuotas(t *testing.T) {
	t.Parallel()
	limits := limitsOf(10, time.Hour)
	limits.Attempts = auth.Rate{Requests: 2, Per: time.Hour}
	began := time.Now()
	now := began
	throttle := must.Get(auth.NewThrottle(limits, func() time.Time { return now }))(t)
	var last auth.Quota
	for _, by := range [][2]string{{"192.0.2.1", "one"}, {"192.0.2.2", "two"}, {"192.0.2.1", "two"}} {
		last = must.Get(throttle.Attempt(by[0], by[1]))(t)
		now = now.Add(time.Minute)
	}
	if last.Policy != "login" || last.Remaining != 0 || !last.Reset.Equal(began.Add(time.Hour+time.Minute)) {
		t.Errorf("%+v, want the login's", last)
	}
}

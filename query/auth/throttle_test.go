package auth_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

func TestWindows(t *testing.T) { // RATE-01, RATE-03
	synctest.Test(t, func(t *testing.T) {
		cfg := auth.ThrottleDefaults()
		cfg.Reads = auth.Rate{Requests: 3, Per: time.Minute}
		throttle := must.Get(auth.NewThrottle(cfg, time.Now))(t)
		start := time.Now()
		for want := 2; want >= 0; want-- {
			q, err := throttle.Read(1)
			if err != nil || q.Limit != 3 || q.Remaining != want || !q.Reset.Equal(start.Add(time.Minute)) {
				t.Fatalf("%+v, %v", q, err)
			}
			time.Sleep(time.Second)
		}
		for range 2 { // further refusals cost nothing
			q, err := throttle.Read(1)
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.RateLimited || f.RetryAfter != 57*time.Second || q.Remaining != 0 || q.Limit != 3 {
				t.Fatalf("%+v, %v", q, err)
			}
		}
		if _, err := throttle.Read(2); err != nil {
			t.Errorf("another account: %v", err)
		}
		if _, err := throttle.Anonymous("1"); err != nil {
			t.Errorf("an address with the text of an account: %v", err)
		}
		time.Sleep(57*time.Second - 1)
		if _, err := throttle.Read(1); err == nil {
			t.Error("too early")
		}
		time.Sleep(time.Nanosecond)
		if q, err := throttle.Read(1); err != nil || q.Remaining != 2 {
			t.Errorf("%+v, %v", q, err)
		}
	})
}

func TestAttemptsGiveTheTighterQuota(t *testing.T) {
	cfg := auth.ThrottleDefaults()
	throttle := must.Get(auth.NewThrottle(cfg, time.Now))(t)
	for range 4 {
		must.Get(throttle.Attempt("a", "login"))(t)
	}
	if q, _ := throttle.Attempt("b", "login"); q.Remaining != 5 {
		t.Errorf("%+v", q)
	}
	if q, _ := throttle.Attempt("a", ""); q.Remaining != 5 {
		t.Errorf("%+v", q)
	}
	for i := range 5 {
		must.Get(throttle.Attempt("a", fmt.Sprint(i)))(t)
	}
	if q, err := throttle.Attempt("a", "fresh"); err == nil || q.Remaining != 0 {
		t.Errorf("%+v, %v", q, err)
	}
	if q, _ := throttle.Attempt("c", "fresh"); q.Remaining != 9 { // a refused address does not use up the login's limit
		t.Errorf("%+v", q)
	}
}

func TestThrottleIsBounded(t *testing.T) {
	cfg := auth.ThrottleDefaults()
	cfg.MaxKeys = 10
	throttle := must.Get(auth.NewThrottle(cfg, time.Now))(t)
	for i := range 11 {
		must.Get(throttle.Anonymous(fmt.Sprint(i)))(t)
	}
	if q, _ := throttle.Anonymous("10"); q.Remaining != 598 {
		t.Errorf("%+v", q)
	}
	if q, _ := throttle.Anonymous("0"); q.Remaining != 599 {
		t.Errorf("the first was not forgotten: %+v", q)
	}
}

func TestHeavy(t *testing.T) {
	cfg := auth.ThrottleDefaults()
	cfg.HeavyAtOnce = 2
	throttle := must.Get(auth.NewThrottle(cfg, time.Now))(t)
	one := must.Get(throttle.Heavy(1))(t)
	must.Get(throttle.Heavy(1))(t)
	var f *fault.Error
	if _, err := throttle.Heavy(1); !errors.As(err, &f) || f.Kind != fault.RateLimited || f.RetryAfter != time.Second {
		t.Errorf("%v", err)
	}
	must.Get(throttle.Heavy(2))(t)
	one()
	one()
	must.Get(throttle.Heavy(1))(t)
	if _, err := throttle.Heavy(1); err == nil {
		t.Error("a place given back twice counts twice")
	}
}

func TestAddressKey(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		equals.Is(t, want, auth.AddressKey(netip.MustParseAddr(address)), "%s", address)
	}
}

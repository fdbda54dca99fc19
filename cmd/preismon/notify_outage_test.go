package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/ingest/market"
)

// hook is a webhook that keeps when the captures of the alerts were made, each
// once, in the order in which they first arrived.
type hook struct {
	*httptest.Server
	mu       sync.Mutex
	captures []string
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var alert struct{ Timestamp string }
		if body, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(body, &alert) != nil {
			t.Errorf("%s: %v", body, err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if !slices.Contains(h.captures, alert.Timestamp) {
			h.captures = append(h.captures, alert.Timestamp)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) got() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.captures)
}

// alertsOverOutages: while `preismon notify` runs, the service is stopped and
// started, and killed and started, between alerts; the webhook gets each of
// them, in order.
func alertsOverOutages(t *testing.T, u *upProcess, account market.DemoAccount) {
	effort.Full(t, "outages of alerts")
	c := u.client().login(account.LoginIdentifier, account.Password)
	c.t = t
	status, body := c.get("/v1/results", url.Values{"limit": {"1"}, "latestPerPair": {"true"}})
	var page struct {
		Data []struct {
			ItemID contracts.ItemID
			Site   contracts.SiteKey
		}
	}
	if err := json.Unmarshal(body, &page); err != nil || status != http.StatusOK || len(page.Data) == 0 {
		t.Fatalf("%d %s %v", status, body, err)
	}
	pair, h, dir := page.Data[0], newHook(t), t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	secret := write("secret", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\n")
	rules := write("rules.yaml", fmt.Sprintf(`allowHosts: [127.0.0.1]
targets: {hook: {webhook: {url: "%s/", secretFile: %s}}}
rules: [{name: cheap, rule: PRICE_BELOW, price: 1.00, currencyCode: EUR, itemId: %d, site: %s, targets: [hook]}]
`, h.URL, secret, pair.ItemID, pair.Site))
	env := []string{"PREISMON_TOKEN=" + c.token, "PREISMON_URL=" + u.URL}
	args := []string{"notify", "--every", "1s", "--state", filepath.Join(dir, "state"), rules}
	if out, errs, code := preismon(t, env, append(args, "--once")...); code != 0 { // from here on
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	cmd, log := command(t, env, args...), newTranscript()
	cmd.Stderr = log
	must.Do(t, cmd.Start())

	var want []string
	fire := func() { // the price rises above the rule's, and falls below it
		t.Helper()
		for _, price := range []int64{500, 50} {
			time.Sleep(2 * time.Millisecond) // no two captures are of the same time
			at := time.Now().UTC().Truncate(time.Millisecond)
			batch := &contracts.Observations{Site: pair.Site, Observations: []contracts.Observation{{
				ItemID: pair.ItemID, CapturedAt: at, Outcome: contracts.PriceObserved, Offers: []contracts.Offer{{Price: &price, CurrencyCode: "EUR", Merchant: "M"}},
			}}}
			u.bus(t).send(t, &event.Event{ID: uuid.NewString(), Kind: event.KindObservations, Producer: "test", ProducedAt: at, Data: batch})
			if price == 50 {
				want = append(want, at.Format("2006-01-02T15:04:05.000Z"))
			}
		}
		waitUntilApplied(t, u)
	}
	delivered := func(what string) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !slices.Equal(h.got(), want); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %v, want %v\n%s", what, h.got(), want, log)
			}
		}
	}
	again := func(what string) {
		t.Helper()
		before := log.String()
		must.Eventually(t, time.Minute, what+": notify meets the outage", func() bool { return len(log.String()) > len(before) })
		u = startUp(t, "--data-dir", u.DataDir, "--listen", strings.TrimPrefix(u.URL, "http://"))
	}
	fire()
	delivered("at first")
	u.interrupt()
	u.wait()
	again("stopped")
	fire()
	fire()
	delivered("after a stop")
	fire()
	u.kill9() // before notify has asked, or while it does
	again("killed")
	fire()
	delivered("after a kill")
	must.Do(t, cmd.Process.Signal(syscall.SIGINT))
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
}

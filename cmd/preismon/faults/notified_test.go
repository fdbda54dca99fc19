package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/cmd/preismon/notify"
	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// notifyFaults take away the service that `preismon notify` reads, while alerts
// fire: each is delivered at least once, in order.
var notifyFaults = []fault{
	{name: "notify-service-away", core: true, alone: true, do: func(w *world, rnd *rand.Rand) (err error) {
		dir, err := os.MkdirTemp(w.dir, "notify")
		if err != nil {
			return err
		}
		n := &notified{w: w, reader: w.readers[1], dir: dir} // whose scope stays as it is
		return n.run(rnd)
	}},
}

// notified is a webhook that alerts are delivered to.
type notified struct {
	w      *world
	reader *reader
	dir    string

	mu  sync.Mutex
	ids []string // of the alerts, in the order in which each came first
}

// ServeHTTP receives an alert.
func (n *notified) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var message struct{ Data struct{ AlertID string } }
	text, err := io.ReadAll(r.Body)
	if err = errors.Join(err, json.Unmarshal(text, &message)); err != nil || message.Data.AlertID == "" {
		n.w.finding(wrong("I5", "a message that is no alert: %v: %.200s", err, text))
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.ids, message.Data.AlertID) {
		n.ids = append(n.ids, message.Data.AlertID)
	}
}

func (n *notified) got() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.ids)
}

// RoundTrip sends a request to the query node, wherever it listens now.
func (n *notified) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = n.w.query.Listen()
	return n.reader.client.Transport.RoundTrip(r)
}

func (n *notified) run(rnd *rand.Rand) error {
	hook := httptest.NewServer(n)
	defer hook.Close()
	cfg, err := n.config(hook.URL)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := retried(func() (bool, error) { return true, n.reader.login(ctx) }); err != nil {
		return err
	}
	cfg.Once = true
	if err := notify.Run(ctx, cfg); err != nil { // it begins
		return err
	}
	state, err := os.ReadFile(cfg.State)
	if err != nil {
		return err
	}
	found := regexp.MustCompile(`"token": ?"([^"]+)"`).FindSubmatch(state)
	if found == nil {
		return fmt.Errorf("notify keeps no token: %s", state)
	}
	cfg.Once = false
	ended := make(chan error, 1)
	go func() { ended <- notify.Run(ctx, cfg) }()
	if err := must.Until(patience, "an alert is delivered", func() bool { return len(n.got()) > 0 }); err != nil {
		return err
	}
	before := len(n.got())
	n.w.query.Kill()
	time.Sleep(upTo(rnd, 2*time.Second))
	if err := restart(n.w.query); err != nil {
		return err
	}
	if err := must.Until(patience, "alerts are delivered again", func() bool { return len(n.got()) > before }); err != nil {
		return wrong("I1", "after the service came back: %v", err)
	}
	want, err := n.fired(ctx, string(found[1]))
	if err != nil {
		return err
	}
	late := must.Until(patience, "all alerts are delivered", func() bool { return len(n.got()) >= len(want) })
	cancel()
	if err := <-ended; err != nil {
		return err
	}
	if got := n.got(); late != nil || !slices.Equal(got[:min(len(got), len(want))], want) {
		return wrong("I1", "%d alerts were delivered, of %d that fired, or in another order: %v", len(got), len(want), late)
	}
	return nil
}

// config is that of notify, with a rule about merchants that draw their prices.
func (n *notified) config(hook string) (cfg notify.Config, err error) {
	file, secret := filepath.Join(n.dir, "rules.yaml"), filepath.Join(n.dir, "secret")
	err = errors.Join(
		os.WriteFile(secret, []byte("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\n"), 0o600),
		os.WriteFile(file, fmt.Appendf(nil, `allowHosts: [127.0.0.1]
targets:
  hook: {webhook: {url: %s, secretFile: %s}}
rules:
  - {name: undercut, rule: UNDERCUT, ownMerchant: merchant 1, itemId: "10", targets: [hook]}
`, hook, secret), 0o600),
	)
	if err != nil {
		return cfg, err
	}
	rules, err := notify.Load(file)
	return notify.Config{
		File: rules, State: filepath.Join(n.dir, "state"), Every: time.Second, Log: slog.New(slog.DiscardHandler),
		Connect: func() (*client.Client, error) {
			return client.New(client.Config{URL: n.w.query.URL(), Token: contracts.Secret(n.reader.token), Transport: n, Patience: notify.Patience})
		},
	}, err
}

// fired reads the alerts since a token, until there are no more for now.
func (n *notified) fired(ctx context.Context, token string) (ids []string, err error) {
	for {
		page, err := retried(func() (page struct {
			Data     []struct{ AlertID string }
			Progress struct {
				Token    string
				UpToDate bool
			}
		}, err error,
		) {
			text, err := n.reader.read(ctx, "/ext/v1/alerts", url.Values{"since": {token}, "limit": {"1000"}})
			if err == nil {
				err = json.Unmarshal(text, &page)
			}
			return page, err
		})
		if err != nil {
			return nil, err
		}
		for _, a := range page.Data {
			ids = append(ids, a.AlertID)
		}
		if token = page.Progress.Token; page.Progress.UpToDate {
			return ids, nil
		}
	}
}

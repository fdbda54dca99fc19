package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/cmd/preismon/notify"
	"preismon/deploy/testserver/must"
)

// feed is a server of /ext/v1/alerts whose tokens are the number of alerts
// passed, and which returns two alerts at once.
type feed struct {
	*httptest.Server
	mu     sync.Mutex
	alerts int
	fails  int // the number of requests that get a 503
	gone   bool
	asked  []string
	status string // of the sites
	silent bool   // the alerts are about silent pairs
}

func newFeed(t *testing.T) *feed {
	f := &feed{}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r.URL.RawQuery)
	since, err := strconv.Atoi(r.URL.Query().Get("since"))
	refuse := func(status int, code, detail string) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code":%q,"detail":%q}`, code, detail)
	}
	switch {
	case r.URL.Path == "/ext/v1/sites/status" && f.status != "":
		_, _ = io.WriteString(w, f.status)
		return
	case r.URL.Path != "/ext/v1/alerts":
		refuse(404, "NOT_FOUND", "No.")
		return
	case f.fails > 0:
		f.fails--
		refuse(503, "SERVICE_UNAVAILABLE", "Not now.")
		return
	case err == nil && f.gone:
		f.gone = false
		refuse(410, "CHANGES_HISTORY_REBUILT", "The tables were rebuilt.")
		return
	case err != nil:
		since = f.alerts // it begins here
	}
	data := []string{}
	for ; since < f.alerts && len(data) < 2; since++ {
		one := `{"alertId":"a%d","rule":"PRICE_DROP","after":{"capturedAt":"2026-01-01T00:00:00Z"}}`
		if f.silent {
			one = `{"alertId":"a%d","rule":"NO_OBSERVATION","before":{"capturedAt":"2026-01-01T00:00:00Z"},"after":null,"deadline":"2026-01-01T06:00:00Z"}`
		}
		data = append(data, fmt.Sprintf(one, since))
	}
	fmt.Fprintf(w, `{"data":[%s],"progress":{"token":"%d","upToDate":%v}}`, strings.Join(data, ","), since, since == f.alerts)
}

// set changes the feed between requests.
func (f *feed) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *feed) begins() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range f.asked {
		if !strings.Contains(q, "since=") {
			n++
		}
	}
	return n
}

const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"

// world is a feed, a folder and the log of runs.
type world struct {
	t     *testing.T
	feed  *feed
	dir   string
	log   strings.Builder
	mu    sync.Mutex
	wait  []time.Duration
	hours bool // each wait is a third of an hour
	stats notify.Stats
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, feed: newFeed(t), dir: t.TempDir()}
	w.write("secret", secret+"\n")
	return w
}

func (w *world) file(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string) {
	must.Do(w.t, os.WriteFile(w.file(name), []byte(text), 0o600))
}

// rules writes a rules file of one rule for some targets.
func (w *world) rules(more, targets string, names ...string) *notify.File {
	w.t.Helper()
	w.write("rules.yaml", fmt.Sprintf("allowHosts: [127.0.0.1]\ntargets:\n%s\nrules:\n  - name: drops\n    rule: PRICE_DROP\n    percent: 10\n    targets: [%s]\n%s",
		strings.ReplaceAll(targets, "DIR", w.dir), strings.Join(names, ", "), more))
	f := must.Get(notify.Load(w.file("rules.yaml")))(w.t)
	return f
}

func (w *world) config(f *notify.File, once bool) notify.Config {
	brief := func(ctx context.Context, d time.Duration) error {
		w.mu.Lock()
		w.wait = append(w.wait, d)
		w.mu.Unlock()
		time.Sleep(time.Millisecond)
		return ctx.Err()
	}
	return notify.Config{
		Stats: &w.stats, Now: w.now,
		File: f, State: w.file("state"), Once: once, Every: time.Second, Wait: brief, Log: slog.New(slog.NewTextHandler(w, nil)),
		Connect: func() (*client.Client, error) {
			return client.New(client.Config{URL: w.feed.URL, Wait: brief, Patience: notify.Patience})
		},
	}
}

// now is the clock, which waits advance.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hours {
		return time.Unix(0, 0).Add(time.Duration(len(w.wait)) * 20 * time.Minute)
	}
	return time.Now()
}

// Write receives the log.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

func (w *world) once(f *notify.File) error { return notify.Run(w.t.Context(), w.config(f, true)) }

// start runs notify until the returned stop, which waits for its end.
func (w *world) start(f *notify.File) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- notify.Run(ctx, w.config(f, false)) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	}
}

func (w *world) eventually(what string, is func() bool) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("not within 20 s: %s\n%s", what, w.logged())
		}
	}
}

// idsOf returns the ids of the messages in a file that a command wrote, one per
// line.
func (w *world) idsOf(name string) (ids []string) {
	text, _ := os.ReadFile(w.file(name))
	for line := range strings.Lines(string(text)) {
		var m struct{ Data struct{ AlertID string } }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			w.t.Fatalf("%q: %v", line, err)
		}
		ids = append(ids, m.Data.AlertID)
	}
	return ids
}

// silences returns those that a command received, by site and newest capture.
func (w *world) silences() string {
	text, _ := os.ReadFile(w.file("out"))
	var all []string
	for line := range strings.Lines(string(text)) {
		var m struct {
			Type, Rule string
			Data       struct {
				Rule, Site     string
				LastCapturedAt *string
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Type != "alert.quiet" || m.Data.Rule != "NO_OBSERVATION" {
			w.t.Fatalf("%q: %v", line, err)
		}
		last := "never"
		if m.Data.LastCapturedAt != nil {
			last = (*m.Data.LastCapturedAt)[11:16]
		}
		all = append(all, m.Data.Site+" "+last)
	}
	return strings.Join(all, ", ")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}

func remove(t *testing.T, path string) {
	t.Helper()
	must.Do(t, os.RemoveAll(path))
}

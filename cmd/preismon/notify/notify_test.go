package notify_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/cmd/preismon/notify"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// TestMain runs notify itself, for tests that kill it.
func TestMain(m *testing.M) {
	if dir := os.Getenv("NOTIFY_TEST_DIR"); dir != "" {
		w := &world{feed: &feed{Server: &httptest.Server{URL: os.Getenv("NOTIFY_TEST_FEED")}}, dir: dir}
		f, err := notify.Load(w.file("rules.yaml"))
		if err = errors.Join(err, notify.Run(context.Background(), w.config(f, true))); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// receiver is a webhook whose messages are verified with the library of the
// standard.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	ids    []string
	bodies map[string]string
	answer func(n int, w http.ResponseWriter) // of the nth request, from 0; nil: 204
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{bodies: map[string]string{}}
	verifier := must.Get(standardwebhooks.NewWebhook(secret))(t)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		body, _ := io.ReadAll(req.Body)
		equals.NoError(t, verifier.Verify(body, req.Header), "the signature is wrong")
		id := req.Header.Get("webhook-id")
		if before, again := r.bodies[id]; again && before != string(body) {
			t.Errorf("%s is another message now: %s, before %s", id, body, before)
		}
		r.ids, r.bodies[id] = append(r.ids, id), string(body)
		if r.answer != nil {
			r.answer(len(r.ids)-1, w)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) got() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.ids, " ")
}

func (r *receiver) target() string {
	return "  hook: {webhook: {url: " + r.URL + "/in, secretFile: DIR/secret}}"
}

// The first run only begins; each later one delivers what has fired since, in
// order.
func TestDelivers(t *testing.T) {
	w, r := newWorld(t), newReceiver(t)
	w.feed.alerts = 3
	f := w.rules("", r.target(), "hook")
	for _, want := range []string{"", "a3_drops a4_drops a5_drops", "a3_drops a4_drops a5_drops"} {
		must.Do(t, w.once(f))
		if got := r.got(); got != want {
			t.Fatalf("delivered %q, want %q", got, want)
		}
		w.feed.set(func() { w.feed.alerts = 6 })
	}
	if want := `{"type":"alert.drops","timestamp":"2026-01-01T00:00:00Z","rule":"drops","data":{"alertId":"a3","rule":"PRICE_DROP","after":{"capturedAt":"2026-01-01T00:00:00Z"}}}`; r.bodies["a3_drops"] != want {
		t.Errorf("the body is %s", r.bodies["a3_drops"])
	}
	if q := w.feed.asked[0]; !strings.Contains(q, "rule=PRICE_DROP") || !strings.Contains(q, "percent=10") {
		t.Errorf("asked %s", q)
	}
}

// A target that was unavailable receives everything in order when it is back,
// and delays no other; Retry-After is obeyed.
func TestTargetIsAway(t *testing.T) {
	w, r := newWorld(t), newReceiver(t)
	r.answer = func(n int, w http.ResponseWriter) {
		if n > 2 {
			return
		}
		w.Header().Set("Retry-After", "77")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	f := w.rules("", r.target()+"\n  desk: {command: [sh, -c, 'cat >> DIR/out; echo >> DIR/out']}", "hook", "desk")
	stop := w.start(f)
	w.eventually("both began", func() bool { return w.feed.begins() == 2 })
	w.feed.set(func() { w.feed.alerts = 3 })
	w.eventually("both have all", func() bool {
		return strings.HasSuffix(r.got(), "a2_drops") && slices.Equal(w.idsOf("out"), []string{"a0", "a1", "a2"})
	})
	stop()
	equals.Is(t, "a0_drops a0_drops a0_drops a0_drops a1_drops a2_drops", r.got(), "delivered")
	if !slices.Contains(w.wait, 77*time.Second) || strings.Count(w.logged(), "alert not delivered") != 3 || !strings.Contains(w.logged(), "delivered=3 retried=3") {
		t.Errorf("waited %v\n%s", w.wait, w.logged())
	}
}

// A command that succeeds has accepted the alert, even if it leaves a process
// that keeps its output open. Of the output of a failing command, the beginning
// is reported.
func TestCommandEnds(t *testing.T) {
	w := newWorld(t)
	f := w.rules("", "  desk: {command: [sh, -c, 'cat >> DIR/out; echo >> DIR/out; sleep 20 &']}\n  loud: {command: [sh, -c, 'echo no place; head -c 9000000 /dev/zero; exit 3']}", "desk", "loud")
	must.Do(t, w.once(f))
	w.feed.set(func() { w.feed.alerts = 1 })
	err := w.once(f)
	if got := w.idsOf("out"); !slices.Equal(got, []string{"a0"}) {
		t.Errorf("delivered %q", got)
	}
	if err == nil || strings.Contains(err.Error(), "desk") || !strings.Contains(err.Error(), "exit status 3: no place") || len(err.Error()) > 1_000 {
		t.Errorf("%v", err)
	}
}

// Where the position cannot be saved, nothing begins: what fires while nothing
// runs would be missed.
func TestStateCannotBeKept(t *testing.T) {
	w, r := newWorld(t), newReceiver(t)
	cfg := w.config(w.rules("", r.target(), "hook"), true)
	cfg.State = w.file("no-folder/state")
	if err := notify.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "no-folder") || w.feed.begins() != 0 {
		t.Errorf("%v, began %d times", err, w.feed.begins())
	}
}

// Of two processes with the same file, the second ends at once: each would write
// the positions of the other back to where it read them.
func TestStateIsInUse(t *testing.T) {
	w := newWorld(t)
	stop := w.start(w.rules("", "  desk: {command: ['true']}", "desk"))
	w.eventually("its position is kept", func() bool {
		text, _ := os.ReadFile(w.file("state"))
		return strings.Contains(string(text), "drops/desk")
	})
	other := w.rules("", "  shelf: {command: ['true']}", "shelf")
	if err := w.once(other); err == nil || !strings.Contains(err.Error(), "another notify is using "+w.file("state")) {
		t.Errorf("the second: %v", err)
	}
	stop()
	must.Do(t, w.once(other))
	if text := read(t, w.file("state")); !strings.Contains(text, "drops/desk") || !strings.Contains(text, "drops/shelf") {
		t.Errorf("kept %s", text)
	}
}

// A target that never accepts anything delays no other.
func TestTargetNeverTakes(t *testing.T) {
	w := newWorld(t)
	f := w.rules("", "  a: {command: ['false']}\n  b: {command: [sh, -c, 'cat >> DIR/out; echo >> DIR/out']}", "a", "b")
	stop := w.start(f)
	w.eventually("both began", func() bool { return w.feed.begins() == 2 })
	w.feed.set(func() { w.feed.alerts = 2 })
	w.eventually("the other has all", func() bool { return len(w.idsOf("out")) == 2 })
	stop()
	if err := w.once(f); err == nil || !strings.Contains(err.Error(), "drops to a: alert a0_drops") {
		t.Errorf("once says %v", err)
	}
	if len(w.idsOf("out")) != 2 {
		t.Errorf("delivered again: %v", w.idsOf("out"))
	}
}

// If it is killed between a delivery and writing the file, it delivers that
// alert again, and none is missing.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	f := w.rules("", "  desk: {command: [sh, -c, 'cat >> DIR/out; echo >> DIR/out; echo $PREISMON_ALERT_ID >> DIR/ids; if rm DIR/armed; then kill -9 $PPID; sleep 5; fi']}", "desk")
	must.Do(t, w.once(f))
	w.feed.set(func() { w.feed.alerts = 4 })
	for range 2 {
		w.write("armed", "")
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "NOTIFY_TEST_DIR="+w.dir, "NOTIFY_TEST_FEED="+w.feed.URL)
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("it was not killed: %v", err)
		}
	}
	must.Do(t, w.once(f))
	equals.Is(t, "a0 a0 a0 a1 a2 a3", strings.Join(w.idsOf("out"), " "), "delivered")
	if ids, _ := os.ReadFile(w.file("ids")); !strings.HasPrefix(string(ids), "a0_drops\na0_drops\na0_drops\na1_drops\n") {
		t.Errorf("the ids are %s", ids)
	}
}

// After stopping in the middle of a page, what was delivered is not delivered
// again.
func TestStopsInTheMidst(t *testing.T) {
	w := newWorld(t)
	f := w.rules("", "  desk: {command: [sh, -c, 'read m; case $m in *a1*) test -e DIR/well || exit 1;; esac; echo $m >> DIR/out']}", "desk")
	for _, alerts := range []int{0, 3} {
		w.feed.alerts = alerts
		if err := w.once(f); (err == nil) != (alerts == 0) {
			t.Fatal(err)
		}
	}
	w.write("well", "")
	must.Do(t, w.once(f))
	equals.Is(t, "a0 a1 a2", strings.Join(w.idsOf("out"), " "), "delivered")
}

// A service that is unavailable for a while is queried again, and no alert is
// missed.
func TestServiceRestarts(t *testing.T) {
	w, r := newWorld(t), newReceiver(t)
	stop := w.start(w.rules("", r.target(), "hook"))
	w.eventually("it began", func() bool { return w.feed.begins() == 1 })
	w.feed.set(func() { w.feed.alerts, w.feed.fails = 3, 20 })
	w.eventually("all is delivered", func() bool { return r.got() == "a0_drops a1_drops a2_drops" })
	stop()
	if !strings.Contains(w.logged(), "alerts not read") {
		t.Error(w.logged())
	}
}

// When the feed cannot be continued, this is reported with the reason; the rule
// begins again, or stops.
func TestCannotBeContinued(t *testing.T) {
	for whenLost, begins := range map[string]int{"": 2, "begin": 2, "stop": 1} {
		w, r := newWorld(t), newReceiver(t)
		f := w.rules("    whenLost: "+whenLost, r.target(), "hook")
		must.Do(t, w.once(f))
		w.feed.set(func() { w.feed.alerts, w.feed.gone = 2, true })
		if err := w.once(f); (err != nil) != (whenLost == "stop") {
			t.Errorf("%s: %v", whenLost, err)
		}
		if n := w.feed.begins(); n != begins || !strings.Contains(w.logged(), "The tables were rebuilt.") {
			t.Errorf("%s: began %d times, want %d\n%s", whenLost, n, begins, w.logged())
		}
	}
}

// A changed rule begins again.
func TestRuleChanges(t *testing.T) {
	w, r := newWorld(t), newReceiver(t)
	for _, more := range []string{"", "", "    site: shop.example\n"} {
		must.Do(t, w.once(w.rules(more, r.target(), "hook")))
	}
	equals.Is(t, 2, w.feed.begins(), "began times")
}

// A name that resolves to a private address is refused on connecting; a
// redirect is not followed.
func TestGuard(t *testing.T) {
	w, r := newWorld(t), newReceiver(t)
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer inner.Close()
	r.answer = func(_ int, w http.ResponseWriter) {
		w.Header().Set("Location", inner.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(inner.URL, "http://"), ":")
	named := "  hook: {webhook: {url: 'https://localhost:" + port + "/', secretFile: DIR/secret}}"
	for target, want := range map[string]string{named: "prohibited", r.target(): "it answers 307"} {
		w.write("state", "{}")
		w.feed.set(func() { w.feed.alerts = 0 })
		f := w.rules("", target, "hook")
		must.Do(t, w.once(f))
		w.feed.set(func() { w.feed.alerts = 1 })
		if err := w.once(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", target, err, want)
		}
	}
}

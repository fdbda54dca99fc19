package notify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"preismon/cmd/preismon/notify"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// A silence is reported once, whatever notify does in between, and again only
// after another capture; for a site without any capture it counts from the
// first check.
func TestSilence(t *testing.T) {
	w := newWorld(t)
	w.write("rules.yaml", `targets: {desk: {command: [sh, -c, "test -e DIR/away && exit 1; cat >> DIR/out; echo >> DIR/out"]}}
rules: [{name: quiet, silentFor: 6h, orderId: 5, targets: [desk]}]
`)
	w.write("rules.yaml", strings.ReplaceAll(read(t, w.file("rules.yaml")), "DIR", w.dir))
	f := must.Get(notify.Load(w.file("rules.yaml")))(t)
	for _, step := range []struct {
		asOf, a, b string // times of captures; empty: none
		away       bool
		told       string // reported, by site and capture
	}{
		{"10:00", "09:00", "", false, ""},
		{"15:00", "09:00", "", false, ""},                 // six hours, and not longer
		{"15:30", "09:00", "", true, ""},                  // it is not accepted
		{"15:40", "09:00", "", false, "a 09:00"},          // and is sent again
		{"16:01", "09:00", "", false, "a 09:00, b never"}, // since the first check
		{"23:00", "09:00", "", false, "a 09:00, b never"}, // only once
		{"23:10", "23:05", "", false, "a 09:00, b never"}, // a capture itself is not reported
		{"23:20", "23:05", "23:15", false, "a 09:00, b never"},
		{"23:59", "17:00", "23:15", false, "a 09:00, b never, a 17:00"}, // rows were removed: another silence
	} {
		w.feed.set(func() {
			w.feed.status = fmt.Sprintf(`{"data":[{"site":"a","lastCapturedAt":%s},{"site":"b","lastCapturedAt":%s}],"query":{"asOf":"2026-01-01T%s:00.000Z"}}`,
				instant(step.a), instant(step.b), step.asOf)
		})
		if remove(t, w.file("away")); step.away {
			w.write("away", "")
		}
		if err := w.once(f); (err != nil) != step.away {
			t.Fatalf("%s: %v", step.asOf, err)
		}
		if got := w.silences(); got != step.told {
			t.Fatalf("%s: told %q, want %q", step.asOf, got, step.told)
		}
	}
	equals.Is(t, "orderId=5", w.feed.asked[len(w.feed.asked)-1], "asked")
	ids := w.idsOf("out")
	if slices.Sort(ids); len(slices.Compact(ids)) != 3 {
		t.Errorf("ids %v", ids)
	}
}

// With the rule NO_OBSERVATION silent pairs are alerts of the feed: each is
// delivered once, at its deadline, and silentFor is a parameter of the request.
func TestSilentPairs(t *testing.T) {
	w := newWorld(t)
	hook := newReceiver(t)
	w.feed.silent = true
	w.write("rules.yaml", strings.ReplaceAll(`allowHosts: [127.0.0.1]
targets:
`+hook.target()+`
rules: [{name: gone, rule: NO_OBSERVATION, silentFor: 6h, site: shop-one, targets: [hook]}]
`, "DIR", w.dir))
	f := must.Get(notify.Load(w.file("rules.yaml")))(t)
	if plan := f.Plan()[0]; !strings.HasPrefix(plan, "gone: rule=NO_OBSERVATION&silentFor=6h&site=shop-one, to hook") {
		t.Errorf("%s", plan)
	}
	for _, alerts := range []int{0, 3, 3, 4} {
		w.feed.set(func() { w.feed.alerts = alerts })
		must.Do(t, w.once(f))
	}
	if q := w.feed.asked[0]; !strings.Contains(q, "rule=NO_OBSERVATION&silentFor=6h&site=shop-one") {
		t.Errorf("asked %s", q)
	}
	equals.Is(t, "a0_gone a1_gone a2_gone a3_gone", hook.got(), "delivered")
	if body := hook.bodies["a2_gone"]; !strings.HasPrefix(body, `{"type":"alert.gone","timestamp":"2026-01-01T06:00:00Z","rule":"gone","data":{"alertId":"a2"`) {
		t.Errorf("%s", body)
	}
}

// An alert that is not accepted is logged as holding up the others; after its
// target's giveUpAfter it is logged as given up, and the next ones go on.
func TestGivesUp(t *testing.T) {
	w := newWorld(t)
	w.hours = true
	f := w.rules("", "  desk: {giveUpAfter: 72h, command: [sh, -c, 'read m; case $m in *a1*) exit 1;; esac; echo $m >> DIR/out']}", "desk")
	stop := w.start(f)
	w.eventually("it began", func() bool { return w.feed.begins() == 1 })
	w.feed.set(func() { w.feed.alerts = 3 })
	w.eventually("the others are delivered", func() bool { return slices.Equal(w.idsOf("out"), []string{"a0", "a2"}) })
	stop()
	log := w.logged()
	if n := strings.Count(log, "holds the later ones up"); n < 50 || n > 72 {
		t.Errorf("it says %d times in 72 hours that an alert is held", n)
	}
	if !strings.Contains(log, "alert given up") || !strings.Contains(log, `\"alertId\":\"a1\"`) || !strings.Contains(log, "delivered=2") || !strings.Contains(log, "given_up=1") {
		t.Errorf("%.3000s", log[max(0, len(log)-3000):])
	}
	if n := w.stats.Targets()["desk"]; n.Delivered != 2 || n.GivenUp != 1 || n.Retried < 200 || !n.HeldSince.IsZero() {
		t.Errorf("%+v", n)
	}
	if err := w.once(f); err != nil || len(w.idsOf("out")) != 2 {
		t.Errorf("delivered again: %v %v", w.idsOf("out"), err)
	}
}

// instant returns a time on the day of the tests, as JSON.
func instant(clock string) string {
	if clock == "" {
		return "null"
	}
	return `"2026-01-01T` + clock + `:00.000Z"`
}

package main

import (
	"strings"
	"testing"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
)

// retentionArgs are the ages that a folder's streams are given.
var retentionArgs = []string{"--keep-observations", "48h", "--keep-dead-letters", "72h"}

// retention: what a retention removed from the stream is in the tables, and
// neither readers nor the audit nor the doctor report it missing. A rebuild
// refuses, because it could not restore it. What comes afterwards is applied as
// before, even after everything was removed. The demo was started with
// retentionArgs.
func retention(t *testing.T, u *upProcess) {
	js := u.bus(t).js
	kept := func(name string) time.Duration {
		s := must.Get(js.Stream(t.Context(), name))(t)
		return s.CachedInfo().Config.MaxAge
	}
	must.Eventually(t, 90*time.Second, "the ages are set", func() bool {
		return kept(event.StreamObservations) == 48*time.Hour && kept(event.StreamDeadLetters) == 72*time.Hour
	})
	here := []string{"--data-dir", u.DataDir}
	run := func(want int, command ...string) string {
		t.Helper()
		out, errs, code := inProcess(t, append(command, here...)...)
		if code != want {
			t.Errorf("%v: exit code %d, want %d: %s%s", command, code, want, out, errs)
		}
		return out + errs
	}
	rows := func() (n uint64) {
		must.Do(t, u.tables().QueryRowContext(t.Context(), "SELECT count() FROM observations").Scan(&n))
		return n
	}
	before := rows()
	if before == 0 {
		t.Fatal("the demo has no rows")
	}
	s := must.Get(js.Stream(t.Context(), event.StreamObservations))(t)
	there := s.CachedInfo().State.LastSeq
	c := s.CachedInfo().Config
	c.MaxAge, c.Duplicates = time.Second, time.Second // as if two days later
	must.Get(js.UpdateStream(t.Context(), c))(t)
	must.Eventually(t, time.Minute, "what was in the stream is gone, while the market goes on", func() bool {
		info, err := s.Info(t.Context())
		return err == nil && info.State.FirstSeq > there
	})
	must.Eventually(t, time.Minute, "doctor says that what is dropped is in the tables, between two captures of the market", func() bool {
		out, _, code := inProcess(t, append([]string{"doctor"}, here...)...) // it is bad while a capture is written, which the stream drops within a second
		return code == 0 && strings.Contains(out, "drops what is 1s old, and all of it is in the tables")
	})
	run(0, "audit")
	run(0, "audit", "--content")
	if said := run(exitFailed, "rebuild"); !strings.Contains(said, "the streams no longer hold everything that the tables do") {
		t.Errorf("rebuild: %s", said)
	}
	if after := rows(); after < before {
		t.Errorf("%d rows, before %d", after, before)
	}
	must.Get(js.Publish(t.Context(), "observations.shop-1=example", []byte("poison")))(t)
	must.Eventually(t, time.Minute, "the next message is read", func() bool {
		return strings.Contains(run(0, "deadletters", "list", "--pending"), "shop-1")
	})
	run(0, "audit")
}

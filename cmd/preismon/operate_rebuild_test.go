package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// rebuild: while events arrive and readers send queries, no answer differs from
// before, neither in pages nor in streams, and everything is there afterwards.
func (o *operate) rebuild(t *testing.T) {
	c := o.up.client().login(o.account.LoginIdentifier, o.account.Password)
	c.t = t
	from, to := o.window()
	want := results(t, c, from, to)
	if len(want) < 100 {
		t.Fatalf("%d rows to look at", len(want))
	}
	_, followed := o.readFeed(t, c, "", from, to)
	ctx, stop := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	polls, walks := 0, 0
	beside.Go(func() {
		for ; ctx.Err() == nil; polls++ {
			if got := results(t, c, from, to); !reflect.DeepEqual(got, want) {
				t.Errorf("stream %d has %d rows, want %d, or others", polls, len(got), len(want))
				return
			}
		}
	})
	beside.Go(func() {
		for ; ctx.Err() == nil; walks++ {
			if got := o.walk(t, c, from, to); !reflect.DeepEqual(got, want) {
				t.Errorf("walk %d has %d rows, want %d, or others", walks, len(got), len(want))
				return
			}
		}
	})
	beside.Go(func() {
		for _, e := range o.latest {
			o.publish(e.Subject(), e, func(s string) string { return s })
			time.Sleep(100 * time.Millisecond) // spread over the rebuild
		}
	})
	must.Get(o.db.ExecContext(t.Context(), "CREATE DATABASE preismon_rebuild"))(t) // an operator's own
	out, errs, code := o.run(t, "rebuild", "--content", "--keep-old")
	stop()
	beside.Wait()
	t.Logf("%s%d streams and %d walks beside it", out, polls, walks)
	if code != 0 || polls < 3 || walks < 1 {
		t.Fatalf("rebuild: exit code %d: %s%s", code, out, errs)
	}
	waitUntilApplied(t, o.up)
	settle(t, o.db)
	noDoubles(t, o.db)
	o.feedRestarts(t, c, followed, want)
	a := o.audit(t, 0, "--content")
	if want := uint64(len(o.observations) + len(o.later) + len(o.latest)); a.Events != want || a.DeadLetters != 2 || a.Waiting != 0 {
		t.Errorf("%d events, want %d: %+v", a.Events, want, a)
	}
	// The tables are different ones, and no letter was written twice.
	o.kept(t)
	out, errs, code = o.run(t, "rebuild", "--keep-old")
	says(t, out, errs, code, exitFailed, "database preismon_old holds what was kept before; drop it, or go without --keep-old")
	if out, _, _ := o.run(t, "deadletters", "list"); strings.Count(out, "\n") != 4 {
		t.Errorf("letters after the rebuild:\n%s", out)
	}
	for _, stream := range []string{event.StreamCatalog, event.StreamObservations} {
		if _, err := o.bus.js.Consumer(t.Context(), stream, "rebuild-0"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
			t.Errorf("a consumer of %s is left behind: %v", stream, err)
		}
	}
}

// kept checks that the old tables are in a database of their own, and that no
// other is left or was dropped.
func (o *operate) kept(t *testing.T) {
	t.Helper()
	if n := number(t, o.db, "SELECT count() FROM preismon_old.observations"); n == 0 {
		t.Error("the old tables are gone")
	}
	if n := number(t, o.db, "SELECT count() FROM system.databases WHERE name = 'preismon.being_rebuilt'"); n != 0 {
		t.Error("the database of the rebuild is still there")
	}
	if n := number(t, o.db, "SELECT count() FROM system.databases WHERE name = 'preismon_rebuild'"); n != 1 {
		t.Error("an operator's own database is gone")
	}
}

// window spans the first capture to the last before those of latest.
func (o *operate) window() (from, to time.Time) {
	return time.UnixMilli(firstCapture(o.observations[0])), time.UnixMilli(firstCapture(o.latest[0]) - 1)
}

// firstCapture returns the time of an event's oldest capture, in Unix ms.
func firstCapture(e *event.Event) int64 {
	return slices.MinFunc(factsOf(e), func(a, b fact) int { return cmp.Compare(a.At, b.At) }).At
}

// walk reads a window in pages.
func (o *operate) walk(t *testing.T, c *api, from, to time.Time) (all []row) {
	const form = "2006-01-02T15:04:05.000Z"
	params := url.Values{"globalScope": {"true"}, "capturedFrom": {from.UTC().Format(form)}, "capturedTo": {to.UTC().Format(form)}, "limit": {"100"}}
	for {
		status, body := c.get("/v1/results", params)
		var page struct {
			Data   []row
			Paging struct{ NextCursor string }
		}
		if err := json.Unmarshal(body, &page); status != http.StatusOK || err != nil {
			t.Errorf("a page of the walk: %d %s %v", status, body, err)
			return all
		}
		all = append(all, page.Data...)
		if page.Paging.NextCursor == "" {
			return all
		}
		params.Set("cursor", page.Paging.NextCursor)
	}
}

// mend: what was damaged is right after a rebuild.
func (o *operate) mend(t *testing.T) {
	exits(t, 0, "All tables were rebuilt")(o.run(t, "rebuild"))
	waitUntilApplied(t, o.up)
	settle(t, o.db)
	o.audit(t, 0, "--content")
	o.kept(t)
}

// restore restores into the damaged folder, whose stream has the rest, and into
// a new one, whose stream does not.
func (o *operate) restore(t *testing.T) {
	out, errs, code := inProcess(t, "restore", "--data-dir", o.up.DataDir, "--from", "first", "--replace")
	says(t, out, errs, code, exitFailed, "in use by process")
	c := o.up.client().login(o.account.LoginIdentifier, o.account.Password)
	c.t = t
	from, to := o.window()
	want := results(t, c, from, to)
	_, followed := o.readFeed(t, c, "", from, to)
	o.up.interrupt()
	equals.Is(t, 0, o.up.wait(), "exit code")
	out, errs, code = inProcess(t, "restore", "--data-dir", o.up.DataDir, "--from", "first")
	says(t, out, errs, code, exitFailed, "holds tables already", "--replace")
	out, errs, code = inProcess(t, "restore", "--data-dir", o.up.DataDir, "--from", "second", "--replace")
	says(t, out, errs, code, exitFailed, "there is no backup in", "preismon backup list")
	exits(t, 0)(inProcess(t, "restore", "--data-dir", o.up.DataDir, "--from", "first", "--replace"))
	u := startUp(t, "--data-dir", o.up.DataDir)
	waitUntilApplied(t, u)
	db := u.tables()
	settle(t, db)
	t.Logf("%d rows", exact(t, db, slices.Values(slices.Concat(o.observations, o.later, o.latest)), none))
	noDoubles(t, db)
	c = u.client().login(o.account.LoginIdentifier, o.account.Password)
	c.t = t
	o.feedRestarts(t, c, followed, want)
	exits(t, 0)(inProcess(t, "audit", "--data-dir", u.DataDir, "--content"))

	dir := t.TempDir()
	exits(t, 0)(inProcess(t, "restore", "--data-dir", dir, "--from", o.bucket))
	other := startUp(t, "--data-dir", dir)
	db = other.tables()
	settle(t, db)
	exact(t, db, slices.Values(o.observations), slices.Values(o.later)) // nothing of what was there is missing, and nothing else was added
	noDoubles(t, db)
	if n := number(t, db, "SELECT count() FROM ingested_events"); n < o.saved {
		t.Errorf("%d events, %d were there before the backup", n, o.saved)
	}
	exits(t, 0)(inProcess(t, "audit", "--data-dir", dir))
	if left, err := os.ReadDir(serverBackups(dir)); err != nil || len(left) != 0 {
		t.Errorf("in the folder of backups: %v %v", left, err)
	}
}

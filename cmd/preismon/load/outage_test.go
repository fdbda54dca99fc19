package load_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/process"
	"preismon/ingest/market"
)

// outage is a fault of a server behind a query node.
type outage struct {
	name  string
	begin func()
	end   func()
	lasts time.Duration
	// fails are the kinds that must fail while it lasts, after grace; spares
	// are those that must not.
	fails, spares []string
	grace         time.Duration
	// fast: kinds that fail do so soon, after grace is over.
	fast bool
	// statuses are those that a failed request may have; 0: a broken transfer.
	statuses []int
}

const (
	unavailable = http.StatusServiceUnavailable
	timedOut    = http.StatusGatewayTimeout
	internal    = http.StatusInternalServerError
	brokenOff   = 0
)

// TestFaultsOfQueries: while something behind a query node is gone, slow or cut
// off, no answer is a part of the truth; failures have the right status and say
// when to retry; afterwards everything works at once as before, and nothing is
// left behind.
func TestFaultsOfQueries(t *testing.T) {
	effort.Full(t, "faults under load")
	e := newEstate(t, market.Config{Seed: 7, Scale: 0.3}, 36*time.Hour)
	node := e.node("--soft-deadline", "3s", "--hard-budget", "3s", "--reads-per-minute", "1000000", "--heavy-at-once", "64")
	readers := []*client{e.client("anna", node.URL), e.client("dora", node.URL)}
	var tails []*tail
	for _, c := range readers {
		c.learn(t)
		if c.file == "" {
			t.Fatal("no file to download")
		}
		tails = append(tails, c.tail(c.fed(t), 15*time.Second, true))
	}
	everything := slices.Concat(kinds, []string{follow})
	outages := []outage{
		{
			name: "clickhouse killed and restarted", begin: e.killTables, end: e.startTables, lasts: 2 * time.Second,
			fails: kinds, grace: 500 * time.Millisecond, fast: true, statuses: []int{unavailable, brokenOff},
		},
		{
			name: "clickhouse restarted at once", begin: func() { e.killTables(); e.startTables() }, end: func() {}, lasts: time.Second,
			spares: everything,
		},
		{
			name: "connections broken", begin: e.toTables.Reset, end: func() {}, lasts: time.Second,
			spares: everything,
		},
		{
			name: "clickhouse stopped", begin: func() { e.signalTables(syscall.SIGSTOP) }, end: func() { e.signalTables(syscall.SIGCONT) }, lasts: 8 * time.Second,
			fails: kinds, grace: time.Second, statuses: []int{timedOut, unavailable, brokenOff},
		},
		{
			name: "nats gone", begin: e.toStreams.Refuse, end: e.toStreams.Mend, lasts: 9 * time.Second,
			fails: but(login), spares: []string{login}, grace: 6 * time.Second, fast: true, statuses: []int{unavailable, brokenOff, timedOut}, // under way when it could no longer be checked whether its token is good, or a sum while all the others run
		},
		{
			name: "object store gone", begin: e.toFiles.Refuse, end: e.toFiles.Mend, lasts: 3 * time.Second,
			fails: []string{download}, spares: append(but(download), follow), statuses: []int{unavailable, brokenOff},
		},
	}
	answered(t, readers, time.Minute) // what is remembered is remembered by then
	usual := answered(t, readers, time.Minute)
	e.settle(node, holding{})
	quiet := held(node)
	connections := e.connections()
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			counts := e.suffer(t, o, readers, tails)
			recovered := answered(t, readers, time.Minute)
			if most := recovers + 5*usual; recovered > most {
				t.Errorf("it took %v until all was as before, want %v; without a fault it takes %v", recovered, most, usual)
			}
			until(t, 30*time.Second, "it is ready", node.Ready)
			e.settle(node, quiet)
			if n := e.connections(); n > connections+2*32 {
				t.Errorf("%d connections to ClickHouse, %d before", n, connections)
			}
			t.Logf("fault=%q %s recovered=%v holds=%+v", o.name, counts, recovered.Round(time.Millisecond), held(node))
		})
	}
}

// TestFaultOfMemory: a statement for which ClickHouse has no memory is a 503,
// and no reason to consider ClickHouse unavailable.
func TestFaultOfMemory(t *testing.T) {
	effort.Full(t, "faults under load")
	e := newEstate(t, market.Config{Seed: 7, Scale: 0.1}, 12*time.Hour)
	node := e.node()
	base := node.URL
	c := e.client("anna", func() string { return base() })
	c.learn(t)
	i := slices.Index(e.query, "--clickhouse-dsn") + 1
	e.query[i] += "?max_memory_usage=1&max_untracked_memory=1"
	poor := process.Start(t, e.query...)
	base = poor.URL
	until(t, 30*time.Second, "it knows which tokens are revoked", func() bool { return c.send(t.Context(), page).code != "" })
	for _, kind := range []string{page, latest, stream} {
		for range 5 {
			r := c.send(t.Context(), kind)
			if r.status != unavailable || r.retry < 1 || r.retry > 30 || r.wrong != nil {
				t.Errorf("without memory: %+v", r)
			}
		}
	}
	if log := poor.Written(); !strings.Contains(log, "code: 241") || strings.Contains(log, "clickhouse is away") {
		t.Error("its log says nothing of memory, or takes ClickHouse for away")
	}
	base = node.URL
	answered(t, []*client{c}, 10*time.Second)
}

// suffer sends all kinds of requests while the outage lasts. Tails go on after
// it until they have all rows.
func (e *estate) suffer(t *testing.T, o outage, readers []*client, tails []*tail) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var (
		mu         sync.Mutex
		running    sync.WaitGroup
		bad, total int
		byStatus   = map[int]int{}
	)
	o.begin()
	hit := time.Now()
	count := func(sent time.Time, r reply) {
		late := sent.Sub(hit) > o.grace && time.Since(hit) < o.lasts
		mu.Lock()
		defer mu.Unlock()
		total++
		byStatus[r.status]++
		if why := o.judge(r, late); why != "" {
			if bad++; bad <= 10 {
				t.Errorf("%v after its begin: %s: %+v", sent.Sub(hit).Round(time.Millisecond), why, r)
			}
		}
	}
	following, leave := context.WithCancel(t.Context())
	defer leave()
	for _, f := range tails {
		running.Go(func() { f.run(following, count) })
	}
	for _, c := range readers {
		for _, kind := range kinds {
			running.Go(func() {
				for ctx.Err() == nil {
					sent := time.Now()
					r := c.send(ctx, kind)
					if ctx.Err() != nil {
						return
					}
					count(sent, r)
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
	}
	time.Sleep(o.lasts)
	o.end()
	cancel()
	for _, f := range tails {
		until(t, time.Minute, "a tail has all rows", f.complete.Load)
	}
	leave()
	running.Wait()
	return fmt.Sprintf("requests=%d by status %v", total, byStatus)
}

// recovers bounds the time until every kind is answered again, beside what a
// busy machine needs for the answers; on a quiet one it is less than a second.
const recovers = 6 * time.Second

// soon is generous for a busy machine, and much less than any budget.
const soon = 1500 * time.Millisecond

// judge returns what is wrong with a reply; late: the outage is in full force.
func (o *outage) judge(r reply, late bool) string {
	must := slices.Contains(o.fails, r.kind)
	switch {
	case r.wrong != nil:
		return "a wrong answer"
	case r.status == http.StatusOK && must && late:
		return "it cannot know"
	case r.status == http.StatusOK:
		return ""
	case !slices.Contains(o.statuses, r.status):
		return "not a status for it"
	case r.status == unavailable && (r.retry < 1 || r.retry > 30):
		return "no sane Retry-After"
	case slices.Contains(o.spares, r.kind):
		return "it need not fail"
	case o.fast && late && r.took > soon:
		return "slow to say no"
	}
	return ""
}

// answered waits until every kind is answered as without a fault, and returns
// how long that took.
func answered(t *testing.T, readers []*client, limit time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	var running sync.WaitGroup
	for _, c := range readers {
		for _, kind := range kinds {
			running.Go(func() {
				until(t, limit, kind+" is answered", func() bool {
					r := c.send(t.Context(), kind)
					if r.wrong != nil {
						t.Errorf("after the fault: %+v", r)
					}
					return r.status == http.StatusOK
				})
			})
		}
	}
	running.Wait()
	return time.Since(began)
}

// settle waits until the node has about as many goroutines as before, and
// ClickHouse runs no statement of it.
func (e *estate) settle(node *process.Role, before holding) {
	e.t.Helper()
	until(e.t, time.Minute, "ClickHouse runs no statement of the node", func() bool {
		return e.number("SELECT count() FROM system.processes WHERE user = '"+embedded.QueryUser+"'") == 0
	})
	if before.goroutines > 0 {
		until(e.t, 30*time.Second, fmt.Sprintf("there are not many more than %+v", before), func() bool {
			n := held(node)
			return n.goroutines > 0 && n.goroutines <= before.goroutines+idleGoroutines && n.files <= before.files+idleFiles
		})
	}
}

// holding is what a process holds.
type holding struct{ goroutines, files int }

func held(r *process.Role) holding {
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.PID()))
	return holding{r.Goroutines(), len(files)}
}

// idleGoroutines are those of idle connections: one for each client connection
// to the node, two for each connection of the node to the object store.
const (
	idleGoroutines = 40
	idleFiles      = 40 + 64 // and the two pools of connections to ClickHouse
)

// connections counts the connections to ClickHouse.
func (e *estate) connections() uint64 {
	return e.number("SELECT toUInt64(value) FROM system.metrics WHERE metric = 'TCPConnection'")
}

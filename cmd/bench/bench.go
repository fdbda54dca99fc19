// Command bench measures what the system exists for against what one would run
// instead, in one run on one machine, and reports ratios. Contestants take
// turns, after a warm-up and for several rounds; a result is the median with
// the minimum and the maximum of its rounds.
//
// The roles that it measures are those of the program `preismon` (`preismon
// query` and `preismon up` as children; the consumer loop and the projector in
// this process). The data set is generated inside ClickHouse by INSERT SELECT,
// not by the projector, and is the same for the same seed and size. It promises
// fair opponents, not small numbers: where the opponent does less than we do,
// its note says so.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
)

// Config is the configuration of a run.
type Config struct {
	Observations int    // rows of the table observations
	Mandates     int    // that watch them
	Seed         uint64 // which data set
	Quick        bool   // fewer rounds and smaller parts
	Rounds       int    // of every comparison except hot reads; 0: as in size, fewer with Quick
	DataDir      string // kept; empty: a temporary folder that is removed
	Only         []string
	Profiles     string // folder for CPU profiles of what is measured; empty: none
	Program      string // preismon, for the roles that run as children
	Import       string // file that is imported; empty: one is made
	// Existing servers instead of embedded ones; all or none.
	ClickHouse     contracts.Secret // DSN of a user that may create databases
	ClickHouseHTTP string           // URL of its HTTP interface
	NATS           contracts.Secret

	Progress io.Writer // progress messages for people
	Logger   *slog.Logger
}

// Parts returns the names of the parts of a run, in order.
func Parts() []string {
	return []string{"size", "stream", "tables", "export", "page", "beside", "readrows", "hot", "moved", "reads", "mcp", "tools", "logins", "statistics", "growth", "dashboards", "costs", "again", "resident", "memory", "publish", "drain", "visible", "tails", "ready", "import", "idle"}
}

// Validate returns every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	f.Check(c.Observations >= 10_000, "observations: %d, at least 10000", c.Observations)
	f.Check(c.Mandates >= 10, "mandates: %d, at least 10", c.Mandates)
	f.Check(c.Rounds >= 0, "rounds: negative")
	for _, p := range c.Only {
		f.Check(slices.Contains(Parts(), p), "only: %q is none of %s", p, strings.Join(Parts(), ", "))
	}
	given := 0
	for _, set := range []bool{c.ClickHouse != "", c.ClickHouseHTTP != "", c.NATS != ""} {
		if set {
			given++
		}
	}
	f.Check(given == 0 || given == 3, "clickhouse-dsn, clickhouse-url and nats-url go together")
	return f.Err()
}

// size is how much of everything a run does.
type size struct {
	rounds, warm int
	streamRows   int
	streamRounds int
	tableRows    int
	memoryRows   int
	pages        int // which page is the far one
	readRounds   int
	publishBatch int // events of a round
	drain        int // captures in the backlog
	drainRounds  int
	visible      time.Duration
	tails        time.Duration
	dashboards   int
	hotRounds    int
	movedRounds  int
	hotRound     time.Duration
	costRounds   int
	costRound    time.Duration
	importDays   int           // of the file that is made
	quiet        time.Duration // of an idle demo
}

func (c Config) size() size {
	s := size{
		rounds: 25, warm: 3, streamRows: 2_000_000, streamRounds: 7, tableRows: 300_000, memoryRows: 10_000_000, pages: 100, readRounds: 15,
		publishBatch: 5_000, drain: 2_000_000, drainRounds: 3, visible: 30 * time.Second, tails: 20 * time.Second, dashboards: 64,
		hotRounds: 5, hotRound: 3 * time.Second, movedRounds: 10, costRounds: 5, costRound: 2 * time.Second, importDays: 150, quiet: time.Minute,
	}
	if c.Quick {
		s = size{
			rounds: 11, warm: 2, streamRows: 1_000_000, streamRounds: 3, tableRows: 300_000, memoryRows: 2_000_000, pages: 100, readRounds: 7,
			publishBatch: 2_000, drain: 300_000, drainRounds: 3, visible: 8 * time.Second, tails: 8 * time.Second, dashboards: 64,
			hotRounds: 2, hotRound: 500 * time.Millisecond, movedRounds: 5, costRounds: 3, costRound: time.Second, importDays: 50, quiet: 30 * time.Second,
		}
	}
	if c.Rounds > 0 {
		s.rounds, s.streamRounds, s.readRounds, s.drainRounds = c.Rounds, c.Rounds, c.Rounds, c.Rounds
	}
	return s
}

// Run runs the measurements. The result also has what was measured before an error.
func Run(ctx context.Context, c Config) (*Result, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	if c.Profiles != "" {
		if err := os.MkdirAll(c.Profiles, 0o755); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	r := &run{Config: c, size: c.size(), began: began, result: &Result{
		Machine: machine(), Began: began.UTC(), Quick: c.Quick, Seed: c.Seed, Values: map[string]float64{},
		DataSet: fmt.Sprintf("made inside ClickHouse by INSERT SELECT from numbers() and hash functions, seed %d; not by the projector", c.Seed),
	}}
	err := r.run(ctx)
	r.result.Seconds = time.Since(began).Seconds()
	return r.result, err
}

// run is one run.
type run struct {
	Config
	size   size
	began  time.Time
	result *Result
	world  *world
	data   *dataSet

	unreadSoFar int // requests that unread has changed
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.Progress, "%6.1f s  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

func (r *run) wants(part string) bool { return len(r.Only) == 0 || slices.Contains(r.Only, part) }

func (r *run) run(ctx context.Context) (err error) {
	r.say("starting servers")
	r.world, err = startWorld(ctx, r.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.world.close()) }()
	if r.data, err = makeData(ctx, r); err != nil {
		return fmt.Errorf("data set: %w", err)
	}
	if err := r.world.serve(ctx, r.world.database); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"size", r.measureSize},
		{"stream", r.measureStream},
		{"tables", r.measureTables},
		{"export", r.measureExport},
		{"page", r.measurePage},
		{"beside", r.measureNeighbours},
		{"readrows", r.measureReadRows},
		{"hot", r.measureHot},
		{"moved", r.measureMoved},
		{"reads", r.measureReads},
		{"mcp", r.measureMCP},
		{"tools", r.measureTools},
		{"logins", r.measureLogins},
		{"statistics", r.measureStatistics},
		{"growth", r.measureGrowth},
		{"dashboards", r.measureDashboards},
		{"costs", r.measureCosts},
		{"again", r.measureRepeated},
		{"resident", r.measureResident},
		{"memory", r.measureMemory},
		{"publish", r.measurePublish},
		{"drain", r.measureDrain},
		{"visible", r.measureVisible},
		{"tails", r.measureTails},
		{"ready", r.measureReady},
		{"import", r.measureImport},
		{"idle", r.measureIdle},
	} {
		if !r.wants(part.name) {
			continue
		}
		r.say("measuring: %s", part.name)
		if err := part.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// machine describes the machine that the numbers come from.
func machine() string {
	model := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	memory := ""
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kib int64
		if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kib); err == nil {
			memory = fmt.Sprintf(", %.0f GiB", float64(kib)/(1<<20))
		}
	}
	return fmt.Sprintf("%d cores of %s%s, %s/%s, %s", runtime.NumCPU(), model, memory, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

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
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"preismon/contracts"
)

// Config is the configuration of a run: the flags of the command.
type Config struct {
	Observations   int              `help:"Rows of observations. Default: 50 million, or 3 million with --quick."`
	Mandates       int              `help:"Mandates that watch the products, each with a different share." default:"100"`
	Quick          bool             `help:"A small data set and few rounds: five minutes."`
	Seed           uint64           `help:"Seed of the data set." default:"1"`
	Rounds         int              `help:"Rounds of each comparison, instead of the usual number."`
	Only           []string         `help:"Measure these parts only: ${parts}." placeholder:"PART"`
	DataDir        string           `help:"Keep the data here, and use what is there. Default: a temporary folder." type:"path" placeholder:"DIR"`
	JSON           bool             `name:"json" xor:"form" help:"Print one JSON object."`
	Markdown       bool             `xor:"form" help:"Print the table of figures in the documentation."`
	Join           []string         `help:"Measure nothing: draw curves over these results of --json, and forecast the largest from the others." type:"existingfile" placeholder:"FILE"`
	Report         string           `help:"Write a page with plots." type:"path" placeholder:"FILE.html"`
	Profiles       string           `help:"Write CPU profiles of what is measured." type:"path" placeholder:"DIR"`
	Program        string           `name:"preismon" help:"The program to measure. Default: it is built from this folder." type:"existingfile" placeholder:"FILE"`
	Import         string           `help:"File of observed prices, with the columns of the built-in mapping \"observations\", to import. Default: one of the same shape is made." type:"existingfile" placeholder:"FILE"`
	ClickHouse     contracts.Secret `name:"clickhouse-dsn" env:"PREISMON_CLICKHOUSE_DSN" help:"Measure on this ClickHouse, as a user that may create databases, instead of an embedded one." placeholder:"DSN"`
	ClickHouseHTTP string           `name:"clickhouse-url" env:"PREISMON_CLICKHOUSE_URL" help:"Its HTTP interface." placeholder:"URL"`
	NATS           contracts.Secret `name:"nats-url" env:"PREISMON_NATS_URL" help:"And this NATS." placeholder:"URL"`
	Verbose        bool             `help:"Log what the servers say."`

	Progress io.Writer    `kong:"-"` // progress messages for people
	Logger   *slog.Logger `kong:"-"`
}

// part is a part of a run.
type part struct {
	name string
	do   func(*run, context.Context)
}

// parts returns the parts of a run, in order.
func parts() []part {
	return []part{
		{"size", (*run).measureSize},
		{"stream", (*run).measureStream},
		{"tables", (*run).measureTables},
		{"export", (*run).measureExport},
		{"page", (*run).measurePage},
		{"beside", (*run).measureNeighbours},
		{"readrows", (*run).measureReadRows},
		{"hot", (*run).measureHot},
		{"moved", (*run).measureMoved},
		{"reads", (*run).measureReads},
		{"mcp", (*run).measureMCP},
		{"tools", (*run).measureTools},
		{"logins", (*run).measureLogins},
		{"statistics", (*run).measureStatistics},
		{"growth", (*run).measureGrowth},
		{"dashboards", (*run).measureDashboards},
		{"costs", (*run).measureCosts},
		{"again", (*run).measureRepeated},
		{"resident", (*run).measureResident},
		{"memory", (*run).measureMemory},
		{"publish", (*run).measurePublish},
		{"drain", (*run).measureDrain},
		{"visible", (*run).measureVisible},
		{"tails", (*run).measureTails},
		{"ready", (*run).measureReady},
		{"import", (*run).measureImport},
		{"idle", (*run).measureIdle},
	}
}

// partNames returns the names of the parts, for people.
func partNames() string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// validate returns every fault of the configuration.
func (c Config) validate() error {
	var f contracts.Faults
	f.Check(c.Observations >= 10_000, "observations: %d, at least 10000", c.Observations)
	f.Check(c.Mandates >= 10, "mandates: %d, at least 10", c.Mandates)
	f.Check(c.Rounds >= 0, "rounds: negative")
	for _, p := range c.Only {
		f.Check(slices.ContainsFunc(parts(), func(known part) bool { return known.name == p }), "only: %q is none of %s", p, partNames())
	}
	given := c.ClickHouse != ""
	f.Check((c.ClickHouseHTTP != "") == given && (c.NATS != "") == given, "clickhouse-dsn, clickhouse-url and nats-url go together")
	return f.Err()
}

// tableRows are the rows of the streams of which each form is compared.
const tableRows = 300_000

// size is how much of everything a run does.
type size struct {
	rounds, warm int
	streamRows   int
	streamRounds int
	memoryRows   int
	readRounds   int
	publishBatch int // events of a round
	drain        int // captures in the backlog
	drainRounds  int
	visible      time.Duration
	tails        time.Duration
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
		rounds: 25, warm: 3, streamRows: 2_000_000, streamRounds: 7, memoryRows: 10_000_000, readRounds: 15,
		publishBatch: 5_000, drain: 2_000_000, drainRounds: 3, visible: 30 * time.Second, tails: 20 * time.Second,
		hotRounds: 5, hotRound: 3 * time.Second, movedRounds: 10, costRounds: 5, costRound: 2 * time.Second, importDays: 150, quiet: time.Minute,
	}
	if c.Quick {
		s = size{
			rounds: 11, warm: 2, streamRows: 1_000_000, streamRounds: 3, memoryRows: 2_000_000, readRounds: 7,
			publishBatch: 2_000, drain: 300_000, drainRounds: 3, visible: 8 * time.Second, tails: 8 * time.Second,
			hotRounds: 2, hotRound: 500 * time.Millisecond, movedRounds: 5, costRounds: 3, costRound: time.Second, importDays: 50, quiet: 30 * time.Second,
		}
	}
	if c.Rounds > 0 {
		s.rounds, s.streamRounds, s.readRounds, s.drainRounds = c.Rounds, c.Rounds, c.Rounds, c.Rounds
		s.hotRounds, s.movedRounds, s.costRounds = c.Rounds, c.Rounds, c.Rounds
	}
	return s
}

// run is one run. Its first error ends it: what is called for afterwards is not
// done and gives nothing, and nothing more is recorded.
type run struct {
	Config
	size   size
	began  time.Time
	result *Result
	world  *world
	data   *dataSet
	folder string // of a part, for its files

	mu  sync.Mutex
	err error // the first one; others than the run itself look by failed

	unreadSoFar int // requests that unread has changed
}

// newRun prepares a run.
func newRun(c Config) *run {
	began := time.Now()
	return &run{Config: c, size: c.size(), began: began, result: &Result{
		Machine: machine(), Began: began.UTC(), Quick: c.Quick, Seed: c.Seed, Values: map[string]float64{},
		DataSet: fmt.Sprintf("made inside ClickHouse by INSERT SELECT from numbers() and hash functions, seed %d; not by the projector", c.Seed),
	}}
}

// failed keeps the first error, and reports whether there was one. Tasks may call
// it at the same time.
func (r *run) failed(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	return r.err != nil
}

// table adds a table to the result, and put a value.
func (r *run) table(title, note string) *Table {
	if r.err != nil {
		return &Table{}
	}
	return r.result.table(title, note)
}

func (r *run) put(key, what, unit string, s spread, target float64, atMost bool, note string) {
	if r.err == nil {
		r.result.put(key, what, unit, s, target, atMost, note)
	}
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.Progress, "%6.1f s  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// run runs the measurements. After an error, the result has what was measured
// before.
func (r *run) run(ctx context.Context) (err error) {
	defer func() { r.result.Seconds = time.Since(r.began).Seconds() }()
	if r.Profiles != "" {
		if err := os.MkdirAll(r.Profiles, 0o755); err != nil {
			return err
		}
	}
	r.say("starting servers")
	if r.world, err = startWorld(ctx, r.Config); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.world.close()) }()
	if r.makeData(ctx); r.err != nil {
		return fmt.Errorf("data set: %w", r.err)
	}
	if r.serve(ctx, r.world.database); r.err != nil {
		return r.err
	}
	for _, part := range parts() {
		if len(r.Only) > 0 && !slices.Contains(r.Only, part.name) {
			continue
		}
		r.say("measuring: %s", part.name)
		r.folder = filepath.Join(r.world.temp, part.name)
		if !r.failed(os.Mkdir(r.folder, 0o700)) {
			part.do(r, ctx)
		}
		_ = os.RemoveAll(r.folder) // what remains is removed at the end
		if r.err != nil {
			return fmt.Errorf("%s: %w", part.name, r.err)
		}
	}
	return nil
}

// machine describes the machine that the numbers come from.
func machine() string {
	model, memory := cmp.Or(procField("/proc/cpuinfo", "model name"), "unknown processor"), ""
	if mib := procMiB("/proc/meminfo", "MemTotal"); mib > 0 {
		memory = fmt.Sprintf(", %.0f GiB", mib/1024)
	}
	return fmt.Sprintf("%d cores of %s%s, %s/%s, %s", runtime.NumCPU(), model, memory, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// procField returns a value by its name in a file of the kernel; empty where the
// system has none.
func procField(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if field, value, _ := strings.Cut(line, ":"); strings.TrimSpace(field) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// procMiB returns a value in MiB; 0 where the system has none.
func procMiB(file, name string) float64 {
	var kib float64
	_, _ = fmt.Sscanf(procField(file, name), "%f kB", &kib)
	return kib / 1024
}

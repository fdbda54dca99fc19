package projector

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts/event"
	"preismon/projector/clickhouse"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// The two sides of the fence in statements: where a newer leader has begun, or
// this one has begun again after the statement was built, notDeposed throws and
// leads is false.
const (
	newestLeader = "(SELECT max((fence, toUnixTimestamp64Milli(written_at))) FROM leader_fences WHERE partition = {partition:UInt16})"
	notDeposed   = "throwIf(" + newestLeader + " > ({fence:UInt64}, {begun:Int64}), 'deposed') = 0"
	leads        = newestLeader + " <= ({fence:UInt64}, {begun:Int64})"
)

var fences = strings.NewReplacer("{{not deposed}}", notDeposed, "{{leads}}", leads)

// question returns the text of sql/<name>.sql without its comment.
func question(name string) string {
	b, err := sqlFiles.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	return fences.Replace(strings.TrimSpace(strings.Join(lines, "")))
}

// Conn runs statements; *clickhouse.Pool is one. After an error a statement may
// still be running, or have completed.
type Conn interface {
	Do(ctx context.Context, q ch.Query) error
}

// ErrDeposed means that another projector with a newer fence leads the
// partition. This one must stop; the server refuses whatever it still sends.
var ErrDeposed = fmt.Errorf("projector: %w", event.ErrDeposed)

// writeSettings: one statement creates one part for each quarter that its rows
// belong to, however many rows there are. After a write with an unknown outcome
// the tables are read back: some of these parts may exist.
var writeSettings = []ch.Setting{
	ch.SettingInt("async_insert", 0),
	ch.SettingInt("max_insert_threads", 1),
	{Key: "min_insert_block_size_rows", Value: "1000000000", Important: true},
	ch.SettingInt("min_insert_block_size_bytes", 0),
	ch.SettingInt("insert_deduplicate", 0),
	ch.SettingInt("max_partitions_per_insert_block", 0), // a batch may span many quarters
	ch.SettingInt("optimize_on_insert", 0),              // merges replace rows, and so do reads with FINAL; an insert need not
	ch.SettingInt("use_query_condition_cache", 0),
	ch.SettingInt("lightweight_deletes_sync", 0),
}

var readSettings = []ch.Setting{ch.SettingInt("use_query_condition_cache", 0)}

// args are the values of a statement, by name: numbers, and texts of our own
// without quotes.
type args map[string]any

// insert adds rows to a table with sql/insert_<table>.sql: those of in, or what
// the arguments describe. If next is set, it fills the columns of in for each
// block, until it leaves them empty and returns io.EOF.
func (p *Projector) insert(ctx context.Context, table string, a args, in proto.Input, next func(context.Context) error) error {
	return p.send(ctx, table, ch.Query{Body: question("insert_" + table), Input: in, OnInput: next, Parameters: p.fenced(a), Settings: oneThread})
}

// oneThread is for statements that read next to nothing. Checking the fence
// alone would start three more threads: a seventh of such a statement's
// processor time, and nearly half of its duration.
var oneThread = []ch.Setting{ch.SettingInt("max_threads", 1)}

// write runs a statement that changes tables based on what it finds in them.
func (p *Projector) write(ctx context.Context, what, sql string, a args) error {
	return p.send(ctx, what, ch.Query{Body: sql, Parameters: p.fenced(a)})
}

// fenced adds to the arguments what notDeposed and leads compare.
func (p *Projector) fenced(a args) []proto.Parameter {
	if a == nil {
		a = args{}
	}
	a["partition"], a["fence"], a["begun"] = p.cfg.Partition, p.cfg.Fence, p.begun
	return ch.Parameters(a)
}

// send runs a statement that changes tables, under a query id by which it can
// be found and ended: p<partition>-<fence>-<what>-<count>.
func (p *Projector) send(ctx context.Context, what string, q ch.Query) error {
	q.QueryID = p.prefix() + strconv.FormatUint(p.cfg.Fence, 10) + "-" + what + "-" + p.life + strconv.FormatUint(p.tries.Add(1), 10)
	// KILL QUERY does not end a server's read in the middle of a block.
	q.Settings = slices.Concat(writeSettings, q.Settings, []ch.Setting{ch.SettingInt("receive_timeout", int(p.cfg.StallTimeout.Seconds()))})
	ctx, cancel := context.WithTimeout(ctx, p.cfg.StatementTimeout)
	defer cancel()
	ctx, end := spanOf(ctx, what, q.QueryID)
	err := p.conn.Do(ctx, q)
	end(err)
	if e, ok := ch.AsException(err); ok && e.IsCode(proto.ErrFunctionThrowIfValueIsNonZero) && strings.Contains(e.Message, "deposed") {
		return fmt.Errorf("%s: %w", what, ErrDeposed)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// read runs a query and calls each for every row of its result; nil: the
// variables keep the last.
func (p *Projector) read(ctx context.Context, name string, a args, row clickhouse.Row, each func(), external ...ch.ExternalTable) error {
	return p.ask(ctx, name, question(name), a, row, each, external...)
}

func (p *Projector) ask(ctx context.Context, what, sql string, a args, row clickhouse.Row, each func(), external ...ch.ExternalTable) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.StatementTimeout)
	defer cancel()
	ctx, end := spanOf(ctx, what, "")
	err := p.conn.Do(ctx, clickhouse.Scan(ch.Query{Body: sql, Parameters: ch.Parameters(a), Settings: readSettings, ExternalTables: external}, row, each))
	end(err)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (p *Projector) prefix() string { return fmt.Sprintf("p%d-", p.cfg.Partition) }

// fenceOff settles every write that was sent before, by this leader or an
// earlier one: afterwards each is in the tables or never will be. The fence
// refuses statements that are still on their way to the server, even our own: a
// statement without a block is complete in its first packet, and the server
// runs it even if its sender has disconnected since. Statements already running
// are ended.
func (p *Projector) fenceOff(ctx context.Context) error {
	now, err := p.number(ctx, "next_beginning", args{"partition": p.cfg.Partition})
	if err != nil {
		return err
	}
	p.begun = int64(now)
	if err := p.insert(ctx, "leader_fences", nil, nil, nil); err != nil {
		return err
	}
	if err := p.killOlder(ctx); err != nil {
		return err
	}
	p.notices.settled()
	return nil
}

// killOlder ends every write of this partition that is still running, of this
// or an earlier leader, and waits until none is left.
func (p *Projector) killOlder(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.KillTimeout)
	defer cancel()
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		n, err := p.number(ctx, "running", args{"prefix": p.prefix(), "fence": p.cfg.Fence})
		if err != nil || n == 0 {
			return err
		}
		if err := p.conn.Do(ctx, ch.Query{
			Body:   strings.NewReplacer("{prefix}", p.prefix(), "{fence}", strconv.FormatUint(p.cfg.Fence, 10)).Replace(question("kill")),
			Result: new(proto.Results).Auto(), OnResult: func(context.Context, proto.Block) error { return nil }, // whatever its columns are
		}); err != nil {
			return fmt.Errorf("kill: %w", err)
		}
		p.count(func(s *Stats) { s.Killed += n })
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill: %d statements of %s* still run: %w", n, p.prefix(), ctx.Err())
		case <-time.After(wait):
		}
	}
}

// number runs a query whose result is one number n.
func (p *Projector) number(ctx context.Context, name string, a args) (uint64, error) {
	return p.askNumber(ctx, name, question(name), a)
}

func (p *Projector) askNumber(ctx context.Context, what, sql string, a args) (n uint64, err error) {
	err = p.ask(ctx, what, sql, a, clickhouse.Row{"n": &n}, nil)
	return n, err
}

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
)

// Faults of ClickHouse: it refuses, it hangs, its disk is full.

var tableFaults = []fault{
	{name: "clickhouse-too-many-parts", core: true, do: func(w *world, _ *rand.Rand) error {
		return refusedWhile(w, "TOO_MANY_PARTS", 252, "parts_to_throw_insert = 1, parts_to_delay_insert = 1", "parts_to_throw_insert, parts_to_delay_insert")
	}},
	{name: "clickhouse-read-only", do: func(w *world, _ *rand.Rand) error {
		// 242 is the code for a replicated table; a plain table returns this
		// one.
		return refusedWhile(w, "TABLE_IS_PERMANENTLY_READ_ONLY", 774, "table_readonly = 1", "table_readonly")
	}},
	// A wide insert needs more than this, a plain query does not.
	{name: "clickhouse-out-of-memory", do: lowered("MEMORY_LIMIT_EXCEEDED", 241, limits{settings: map[string]string{"max_memory_usage": "4000000"}}, nil)},
	{name: "clickhouse-too-many-queries", do: lowered("TOO_MANY_SIMULTANEOUS_QUERIES", 202, limits{settings: map[string]string{"max_concurrent_queries_for_user": "2"}}, nil)},
	{name: "clickhouse-timeout", do: lowered("TIMEOUT_EXCEEDED", 159, limits{settings: map[string]string{"max_execution_time": "1"}}, func(w *world) error {
		if err := w.meets(w.projectorTables, proxy.Up, proxy.Rule{Pattern: []byte("captured_ms\x05Int64"), Then: proxy.Hold}); err != nil {
			return err
		}
		time.Sleep(1200 * time.Millisecond)
		w.projectorTables.Heal()
		return nil
	})},
	{name: "clickhouse-disk-full", core: true, alone: true, do: func(w *world, rnd *rand.Rand) error {
		if w.tablesDisk.mounted {
			return w.withoutMerges(func() error {
				return w.tablesDisk.fullWhile(roomUnderWay, func() error {
					return w.refuses("the disk is full", `name IN ('NOT_ENOUGH_SPACE', 'CANNOT_WRITE_TO_FILE_DESCRIPTOR', 'CANNOT_FSYNC', 'CANNOT_OPEN_FILE') OR last_error_message LIKE '%No space left%'`)
				})
			})
		}
		// Where mounting is not allowed: a disk that keeps all of its space
		// free.
		return lowered("NOT_ENOUGH_SPACE", 243, limits{config: []string{
			`<storage_configuration><disks><default><keep_free_space_ratio>1</keep_free_space_ratio></default></disks></storage_configuration>`,
		}}, nil)(w, rnd)
	}},
	{name: "clickhouse-stopped", core: true, do: stopped(func(rnd *rand.Rand) time.Duration { return time.Second + upTo(rnd, 3*time.Second) })},
	{name: "clickhouse-stopped-long", long: true, do: stopped(func(rnd *rand.Rand) time.Duration { return 22*time.Second + upTo(rnd, 10*time.Second) })},
	{name: "clickhouse-starved", do: starved},
	{name: "clickhouse-blackholed-long", long: true, do: func(w *world, rnd *rand.Rand) error {
		if err := w.meets(w.projectorTables, proxy.Up, proxy.Rule{Pattern: []byte("-observations"), Left: rnd.Int64N(3000), Then: proxy.Hold}); err != nil {
			return err
		}
		// Longer than the server waits for the rest of an insert.
		time.Sleep(30*time.Second + upTo(rnd, 15*time.Second))
		if rnd.IntN(2) == 0 {
			w.projectorTables.Reset() // otherwise what was held would pass
		}
		w.projectorTables.Heal()
		return nil
	}},
}

// roomUnderWay is the room left on a full disk of ClickHouse: less than the 1
// MiB that an insert reserves, enough for inserts that already have. ClickHouse
// 26.7 considers a part written whose files did not fit on the disk (decision
// 002).
const roomUnderWay = 768 << 10

// withoutMerges does something while ClickHouse merges nothing, for the same
// reason.
func (w *world) withoutMerges(do func() error) error {
	system := func(what string) error {
		_, err := retried(func() (any, error) { return w.db().Exec("SYSTEM " + what + " MERGES") })
		return err
	}
	if err := system("STOP"); err != nil {
		return err
	}
	err := must.Until(patience, "no merge is under way", func() bool {
		var n int
		err := w.db().QueryRow("SELECT count() FROM system.merges").Scan(&n)
		return err == nil && n == 0
	})
	if err == nil {
		err = do()
	}
	return errors.Join(err, system("START"))
}

// limits are settings that a ClickHouse is started with in addition to the
// usual ones.
type limits struct {
	settings map[string]string // of all sessions that set none themselves; the test's own do
	config   []string          // XML elements
}

// refuses waits until ClickHouse has refused something, by a condition on
// system.errors, since it was started or since the call.
func (w *world) refuses(what, condition string) error {
	count := func() (n uint64) {
		_ = w.db().QueryRow("SELECT sum(value) FROM system.errors WHERE " + condition).Scan(&n)
		return n
	}
	before := count()
	return must.Until(patience, "ClickHouse says that "+what, func() bool { return count() > before })
}

func thrown(name string, code int) string {
	return fmt.Sprintf("name = '%s' AND code = %d", name, code)
}

// lowered restarts ClickHouse with lower limits until it has refused something
// because of them. provoke makes it do so; nil: it does so by itself.
func lowered(name string, code int, l limits, provoke func(*world) error) func(*world, *rand.Rand) error {
	return func(w *world, rnd *rand.Rand) error {
		err := w.restartTables(context.Background(), 0, l)
		if err == nil {
			refused := make(chan error, 1)
			go func() { refused <- w.refuses(fmt.Sprintf("%s, code %d", name, code), thrown(name, code)) }()
			if provoke != nil {
				err = provoke(w)
			}
			err = errors.Join(err, <-refused)
			time.Sleep(upTo(rnd, 300*time.Millisecond))
		}
		return errors.Join(err, w.restartTables(context.Background(), 0, limits{}))
	}
}

// refusedWhile changes settings of the table observations until ClickHouse has
// refused inserts because of them.
func refusedWhile(w *world, name string, code int, set, unset string) error {
	alter := func(what string) error {
		var last error
		err := must.Until(patience, "the setting is changed", func() bool {
			_, last = w.db().Exec("ALTER TABLE observations " + what)
			return last == nil
		})
		if err != nil {
			return errors.Join(err, last)
		}
		return nil
	}
	refused := make(chan error, 1)
	go func() { refused <- w.refuses(fmt.Sprintf("%s, code %d", name, code), thrown(name, code)) }()
	err := alter("MODIFY SETTING " + set)
	if err == nil {
		err = <-refused
	}
	return errors.Join(err, alter("RESET SETTING "+unset))
}

// stopped freezes ClickHouse for a while: it keeps its connections and sends
// nothing.
func stopped(how func(*rand.Rand) time.Duration) func(*world, *rand.Rand) error {
	return func(w *world, rnd *rand.Rand) error {
		pid := w.tablesPID()
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(how(rnd))
		return syscall.Kill(pid, syscall.SIGCONT)
	}
}

// starved leaves ClickHouse a tenth of its time for some seconds.
func starved(w *world, rnd *rand.Rand) error {
	pid := w.tablesPID()
	for range 15 + rnd.IntN(15) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(180 * time.Millisecond)
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

func (w *world) tablesPID() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clickhouse.PID()
}

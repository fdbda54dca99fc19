package faults_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"preismon/archive"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
)

// damageFaults change stored data without the roles knowing: it must be
// noticed, and all must be right again after it is repaired.
var damageFaults = []fault{
	{name: "rows-lost", alone: true, do: rowsLost},
	{name: "archive-damaged", core: true, alone: true, do: archiveDamaged},
	{name: "clock-was-ahead", alone: true, do: clockWasAhead},
}

// unwatched selects rows that no mandate sees, so that no reader misses them.
const unwatched = `item > 16 AND (epoch, seq) = (SELECT max((epoch, seq)) FROM observations WHERE item > 16)`

// rowsLost deletes rows behind the checkpoint: the next leader finds that the
// tables differ from what was applied, and the next leader after they are
// restored does not.
func rowsLost(w *world, _ *rand.Rand) (err error) {
	if err := w.waitApplied(); err != nil {
		return err
	}
	defer w.producer.resume()
	exec := func(statements ...string) error {
		for _, s := range statements {
			if _, err := w.db().Exec(s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	}
	if err := exec("CREATE TABLE lost_rows ENGINE = Memory AS SELECT * FROM observations WHERE "+unwatched, "DELETE FROM observations WHERE "+unwatched); err != nil {
		return err
	}
	back := func() error { return exec("INSERT INTO observations SELECT * FROM lost_rows", "DROP TABLE lost_rows") }
	if err := w.proves(func(findings float64) bool { return findings > 0 }); err != nil {
		return errors.Join(wrong("I1", "a new leader does not find that rows are lost: %v", err), back())
	}
	if err := back(); err != nil {
		return err
	}
	if err := w.proves(func(findings float64) bool { return findings == 0 }); err != nil {
		return wrong("I1", "a new leader misses rows that are there again: %v", err)
	}
	return nil
}

// proves kills the leader and waits until the next has compared the tables with
// their proof and found what is wanted.
func (w *world) proves(wanted func(findings float64) bool) error {
	began := time.Now().Truncate(time.Second)
	if err := w.killLeader(); err != nil {
		return err
	}
	return must.Until(patience, "a leader compares the tables with their proof", func() bool {
		return slices.ContainsFunc(w.projectors[:], func(r *process.Role) bool {
			m := r.Metrics()
			at := time.Unix(int64(m["preismon_projector_proof_timestamp_seconds"]), 0)
			return m["preismon_projector_leader"] == 1 && !at.Before(began) && wanted(m["preismon_projector_proof_findings"])
		})
	})
}

// archiveDamaged starts a separate query node whose first archive has a copy of
// the right length but with other bytes: the file arrives complete from the
// second archive.
func archiveDamaged(w *world, rnd *rand.Rand) (err error) {
	if w.file == nil {
		return errors.New("there is no archive")
	}
	folder, err := os.MkdirTemp(w.dir, "damaged")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := putDamaged(folder, w.file, rnd.IntN(len(w.file.content))); err != nil {
		return err
	}
	args := slices.Clone(w.query.Args)
	args[slices.Index(args, "--archive")+1] = folder
	node := process.New(w.t, append(args, "--archive", w.file.place)...)
	node.Env, node.Asks = []string{"GOMAXPROCS=1"}, time.Second
	defer node.Kill()
	if err := node.Start(); err != nil {
		return err
	}
	r := newReader(1, w.ledger, node.URL, w.seed, w.finding)
	r.file, r.grants = w.file, w.grants
	if _, err := retried(func() (any, error) { return nil, r.download(context.Background()) }); err != nil {
		return err
	}
	if n := node.Metrics()[`preismon_archive_reads_total{result="damaged"}`]; n < 1 {
		return wrong("I5", "a damaged copy was passed over, and %.0f are counted", n)
	}
	return nil
}

// putDamaged stores the file in a folder, with another byte at that place.
func putDamaged(folder string, f *file, at int) error {
	dir, err := archive.NewDir(folder)
	if err != nil {
		return err
	}
	if err := errors.Join(dir.Put(context.Background(), f.ref, bytes.NewReader(f.content)), dir.Close()); err != nil {
		return err
	}
	damaged := 0
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content := slices.Clone(f.content)
		content[at] ^= 0x20
		damaged++
		return os.WriteFile(name, content, 0o600)
	})
	if err == nil && damaged != 1 {
		err = fmt.Errorf("%d files in the archive", damaged)
	}
	return err
}

// clockWasAhead leaves in the tables the fence of a leader whose lease came
// from a NATS with its clock an hour ahead. Fences from leases will exceed it
// only in an hour, so the next leader must count on from the tables, at once.
func clockWasAhead(w *world, _ *rand.Rand) error {
	const hour = 3_600_000 << 22 // fences count milliseconds, see package ingest
	old, _, err := w.leader()
	if err != nil {
		return err
	}
	before := w.fence()
	if _, err := w.db().Exec("INSERT INTO leader_fences (partition, fence) SELECT 0, max(fence) + ? FROM leader_fences WHERE partition = 0", int64(hour)); err != nil {
		return err
	}
	ahead := w.fence()
	if ahead < before+hour {
		return fmt.Errorf("the fence is %d, and was %d", ahead, before)
	}
	if err := must.Until(patience, "a leader has a newer fence", func() bool { return w.fence() > ahead }); err != nil {
		return wrong("I7", "nobody leads after a clock that was ahead, as %s did before: %v", old.Args[0], err)
	}
	return nil
}

// fence is the newest fence that the tables know.
func (w *world) fence() (n uint64) {
	_ = w.db().QueryRow("SELECT max(fence) FROM leader_fences WHERE partition = 0").Scan(&n)
	return n
}

package store_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"preismon/contracts/event"
	"preismon/contracts/fault"
	"preismon/deploy/testserver"
	"preismon/query"
	"preismon/query/store"
)

// feedsOverShards checks the promise of a feed over three shards, with two nodes.
func feedsOverShards(t *testing.T, servers []*testserver.Shard) {
	w := &shardedWorld{world: newWorld(t, 323, 150), servers: servers, database: "preismon_test_feeds"}
	w.reports()
	s := &shardTables{shardedWorld: w, versions: slices.Clone(shardVersions)}
	for p := range servers {
		w.fill(p)
		for _, table := range []string{"observations", "observations_by_mandate"} {
			w.on(p, "SYSTEM START MERGES "+table) // they also delete
		}
		s.reached = append(s.reached, query.Watermark{Epoch: w.epoch, Seq: w.mark})
		s.reach(p, s.reached[p])
		s.notify(p, "CATALOG", "IN_FORCE")
	}
	s.filled = slices.Clone(s.reached)
	for _, p := range []int{0, 2} {
		s.nodes = append(s.nodes, w.node(p, threeShards))
	}
	p := &feedProperty{w: w.world, tables: s, now: s.reached[0], steps: 10}
	for _, node := range s.nodes {
		s.services = append(s.services, w.over(node, func(*query.Config) {}))
	}
	p.nodes = s.services
	p.check(t)
	t.Logf("uneven=%d early=%d", s.uneven, s.early)
	if s.uneven < p.steps/2 || s.early == 0 || p.count.away == 0 {
		t.Errorf("too little was seen: uneven=%d early=%d away=%d", s.uneven, s.early, p.count.away)
	}
}

// shardTables is the tables of three shards, which take over the rows of the
// world unevenly.
type shardTables struct {
	*shardedWorld
	nodes           []*store.Store
	services        []*query.Service
	versions        []uint64
	reached, filled []query.Watermark // by partition: its checkpoint, and up to where it has rows
	uneven          int               // how often the checkpoints differed
	early           int               // tokens that began before all partitions knew of a grant
}

// notify notifies readers of changes in a partition.
func (s *shardTables) notify(p int, streams ...string) {
	for _, stream := range streams {
		s.partition(p).notify(stream)
	}
}

func (s *shardTables) partition(p int) partition {
	return partition{p, func(sql string, args ...any) {
		s.on(p, sql, args...)
		s.written.Store(&event.Written{})
	}}
}

// positions are those of all rows, each once, in order.
func (s *shardTables) positions() (all []query.Watermark) {
	for _, r := range s.rows {
		all = append(all, query.Watermark{Epoch: r.epoch, Seq: r.seq})
	}
	slices.SortFunc(all, query.Watermark.Compare)
	return slices.Compact(all)
}

// copy copies the rows of the partition's sites that a condition selects.
func (s *shardTables) copy(p int, condition string) {
	for _, name := range []string{"observations", "observations_by_mandate"} {
		s.on(p, fmt.Sprintf("INSERT INTO %s SELECT * FROM %s WHERE indexOf(%s, site) %% %d = %d AND %s", name, s.table(name), siteList(), threeShards, p, condition))
	}
}

// advance lets each partition apply some of what was inserted, and write rows
// beyond its checkpoint.
func (s *shardTables) advance(r *rand.Rand, _ bool) query.Watermark {
	positions := s.positions()
	for p, from := range s.reached {
		i, _ := slices.BinarySearchFunc(positions, from, query.Watermark.Compare)
		to := i + r.IntN(len(positions)-i)
		if r.IntN(3) == 0 {
			to = len(positions) - 1
		}
		s.reached[p] = positions[to]
		if rows := positions[min(to+r.IntN(3), len(positions)-1)]; rows.Compare(s.filled[p]) > 0 {
			s.copy(p, fmt.Sprintf("(epoch, seq) > (%d, %d) AND (epoch, seq) <= (%d, %d)", s.filled[p].Epoch, s.filled[p].Seq, rows.Epoch, rows.Seq))
			s.filled[p] = rows
		}
		s.reach(p, s.reached[p])
	}
	s.written.Store(&event.Written{})
	if now := s.least(); slices.ContainsFunc(s.reached, func(at query.Watermark) bool { return at != now }) {
		s.uneven++
	}
	return s.least()
}

// least is how far readers see.
func (s *shardTables) least() query.Watermark {
	return slices.MinFunc(s.reached, query.Watermark.Compare)
}

// regrant changes the scope in one partition after another. A token that begins
// when one has applied it, and the next does not know of it, ends with that.
func (s *shardTables) regrant(change func(mandatePairs), between func()) {
	s.t.Helper()
	pairs := s.scopes[mandateOne]
	was := maps.Clone(pairs)
	change(pairs)
	partition{0, s.exec}.regrant(s.versions[0]+threeShards, was, pairs, func() {}) // where the rows are copied from
	var early []*feeder
	for n, p := range rand.New(rand.NewPCG(s.versions[0], 1)).Perm(threeShards) {
		s.versions[p] += threeShards
		s.partition(p).regrant(s.versions[p], was, pairs, between)
		if n == threeShards-1 {
			break
		}
		f := &feeder{w: s.world, nodes: s.services, account: accountWhole}
		var err error
		if f.token, err = f.now(query.ResultsRequest{}); err != nil {
			s.t.Errorf("a feed between two partitions' grants: %v", err)
		}
		early = append(early, f)
	}
	for _, f := range early {
		_, _, err := f.page(1000)
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != query.CodeFeedScopeChanged {
			s.t.Errorf("a feed that began between two partitions' grants: %v", err)
		}
		s.early++
	}
}

func (s *shardTables) rebuilt(late obsRow) {
	s.write([]obsRow{late})
	p := slices.Index(worldSites, late.site)
	p = (p + 1) % threeShards // indexOf counts from 1
	if (query.Watermark{Epoch: late.epoch, Seq: late.seq}).Compare(s.filled[p]) <= 0 {
		s.copy(p, fmt.Sprintf("(epoch, seq, capture, offer) = (%d, %d, %d, %d)", late.epoch, late.seq, late.capture, late.offer))
	}
	s.notify(p, "GENERATION")
}

// restored restores the second shard.
func (s *shardTables) restored() query.Watermark {
	const p = 1
	positions := s.positions()
	i, _ := slices.BinarySearchFunc(positions, s.reached[p], query.Watermark.Compare)
	s.reached[p] = positions[max(0, i-3)]
	s.on(p, "TRUNCATE TABLE checkpoints")
	s.reach(p, s.reached[p])
	s.notify(p, "CATALOG", "IN_FORCE", "GENERATION")
	return s.least()
}

// interrupt kills the second shard and starts it again.
func (s *shardTables) interrupt(f func()) {
	s.t.Helper()
	s.servers[1].Kill()
	<-s.servers[1].Done()
	f()
	s.servers[1].Start(s.t)
	for _, node := range s.nodes {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			if at, err := node.Watermark(s.t.Context()); err == nil && at == s.least() {
				break
			} else if time.Now().After(deadline) {
				s.t.Fatalf("a shard is back, and the watermark is %v, %v", at, err)
			}
		}
	}
}

// withoutPairs: a mandate that has no pairs any more can begin a feed although
// one of the partitions has no version of its scope. Once it has a pair there,
// that feed ends, and another begins when the grant is applied.
func (w *shardedWorld) withoutPairs(t *testing.T, node *store.Store) {
	w.serve(node)
	defer func() { w.service = w.single }()
	for p := range w.conns {
		w.on(p, "SYSTEM STOP MERGES scopes")
		w.on(p, "INSERT INTO accounts VALUES (31, 3, 'u31', 'h', false, false, ['results'], true, [], true, [], 1)")
	}
	f := &feeder{w: w.world, account: 31}
	force := func(version, pairs int) {
		w.on(version%threeShards, "INSERT INTO scopes (mandate, version, pairs) VALUES (3, ?, ?)", version, pairs)
	}
	applied := func(p, version int) {
		w.on(p, "INSERT INTO scopes_applied (mandate, partition, version) VALUES (3, ?, ?)", p, version)
	}
	for _, step := range []struct {
		what        string
		do          func()
		begins, end bool // a feed can begin; the last one that began has ended
	}{
		{"nothing was granted", func() {}, true, false},
		{"two partitions applied a grant", func() { force(21, 3); applied(0, 21); force(22, 3); applied(1, 22) }, false, true},
		{"one of them applied its end", func() { force(24, 0); applied(0, 24) }, false, true},
		{"both have, before the third knew of it", func() { force(25, 0); applied(1, 25) }, true, false},
		{"the third fills in a grant", func() { applied(2, 23) }, true, false},
		{"it is in force there", func() { force(26, 2) }, false, true},
		{"it is applied there", func() { applied(2, 26) }, true, true},
		{"the first fills it in, too", func() { applied(0, 27) }, false, false},
		{"it is in force there", func() { force(30, 2) }, false, true},
		{"it is applied there", func() { applied(0, 30) }, true, true},
	} {
		step.do()
		if f.token != "" {
			if _, _, err := f.page(10); step.end != (fault.KindOf(err) == fault.Gone) || !step.end && err != nil {
				t.Errorf("%s: the feed that began before: %v", step.what, err)
			}
		}
		token, err := f.now(query.ResultsRequest{})
		if step.begins != (err == nil) || err != nil && fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s: a feed begins: %v", step.what, err)
		}
		if err == nil {
			f.token = token
		}
	}
}

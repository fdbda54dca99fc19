package projector_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/projector"
)

// shard returns the world of one partition of w: a database of its own, with a
// projector on it.
func (w *world) shard(partition, partitions int) *world {
	s := newWorld(w.t)
	s.cfg.Partition, s.cfg.Partitions = partition, partitions
	s.restart()
	return s
}

// share returns what a partition gets of a batch: the same range, with only its
// own messages.
func share(b *event.Batch, partition, partitions int) *event.Batch {
	if b.Stream == event.StreamCatalog {
		return b
	}
	own := *b
	own.Messages = nil
	for _, m := range b.Messages {
		if event.Partition(m.Event.Subject(), partitions) == partition {
			own.Messages = append(own.Messages, m)
		}
	}
	return &own
}

// records returns the rows of a catalogue table as text.
func (w *world) records(table string) (all []string) {
	w.eachRow("SELECT toString(tuple(*)) FROM "+table+" FINAL ORDER BY 1", 1, func(v []any) { all = append(all, fmt.Sprint(v[0])) })
	return all
}

// merge adds rows, which no other partition may have.
func merge[K comparable, V any](t *testing.T, what string, into, rows map[K]V) {
	t.Helper()
	for k, v := range rows {
		if _, ok := into[k]; ok {
			t.Errorf("%s: %v is in two partitions", what, k)
		}
		into[k] = v
	}
}

// TestPartitionsHoldWhatOneWould: two databases that are fed from one stream
// hold, row for row, what one would: each has its own sites, and both have the
// catalogue and the scopes. A takeover in one does not affect the other.
func TestPartitionsHoldWhatOneWould(t *testing.T) {
	effort.Full(t, "two projectors compared with one")
	const partitions = 2
	whole, k := newWorld(t), newKept(t)
	shards := []*world{whole.shard(0, partitions), whole.shard(1, partitions)}
	feed := func(b *event.Batch) {
		t.Helper()
		k.keep(b)
		whole.apply(b)
		for p, s := range shards {
			s.apply(share(b, p, partitions))
		}
	}
	feed(whole.catalog(mandate(1, 8), mandate(2, 100), order(1, 10, true, 0, []int{1, 2, 3, 4, 5}, []int{0, 1, 2}), order(2, 20, true, 0, []int{3, 4}, []int{1, 3}),
		&contracts.Item{ItemID: 3, Name: "item"}, &contracts.CustomerData{MandateID: 1, ItemID: 3, Category: "c"}))
	for round := range 12 {
		feed(whole.observations(1 + whole.rnd.IntN(20)))
		switch round {
		case 3: // granted: each backfills from its own past
			feed(whole.catalog(order(2, 21, true, 1, []int{1, 2, 7, 8}, []int{0, 1, 2, 3})))
		case 5: // revoked and granted in one record
			feed(whole.catalog(order(1, 10, true, 0, []int{2, 3, 9}, []int{1, 2, 3})))
		case 6:
			shards[1].restart()
		case 8:
			feed(whole.catalog(order(2, 20, false, 0, []int{3, 4}, []int{1, 3}), mandate(2, 3)))
		case 9:
			shards[0].restart()
			shards[0].restart()
		}
	}
	whole.verify()
	rows, byMandate, latest, events := map[key]row{}, map[key]row{}, map[key]row{}, map[string]ingested{}
	for p, s := range shards {
		s.settle()
		own := s.tableRows("observations", 0)
		for _, r := range own {
			if got := event.Partition("observations."+event.SiteToken(contracts.SiteKey(r.Site)), partitions); got != p {
				t.Fatalf("partition %d holds a row of %s, which is of %d", p, r.Site, got)
			}
		}
		merge(t, "observations", rows, own)
		merge(t, "observations_by_mandate", byMandate, s.tableRows("observations_by_mandate", 1))
		merge(t, "latest_observations", latest, s.latestRows())
		merge(t, "ingested_events", events, s.ingestedRows())
		diff(t, "scope_pairs", whole.scopeRows(), s.scopeRows())
		for _, table := range []string{"sites", "items", "mandates", "accounts", "orders", "reference_prices", "customer_data", "file_jobs", "file_archives"} {
			diff(t, table, whole.records(table), s.records(table))
		}
		if got := s.p.Stats().Checkpoints[event.StreamObservations].Seq; got != whole.seq {
			t.Errorf("partition %d is applied up to %d, want %d", p, got, whole.seq)
		}
		var wrong, most uint64
		s.scan("SELECT countIf(version % ? != ? OR version < ?), max(version) FROM scopes", []any{partitions, p, partitions}, &wrong, &most)
		if wrong > 0 || most < 3*partitions {
			t.Errorf("partition %d: %d versions have another's numbers, the last is %d", p, wrong, most)
		}
	}
	diff(t, "observations", whole.tableRows("observations", 0), rows)
	diff(t, "observations_by_mandate", whole.tableRows("observations_by_mandate", 1), byMandate)
	diff(t, "latest_observations", whole.latestRows(), latest)
	diff(t, "ingested_events", whole.ingestedRows(), events)

	// Audits: two messages that cannot be read, one of each partition.
	feed(whole.batchOf(nil, nil))
	for p, site := range []contracts.SiteKey{siteKey(1), siteKey(0)} {
		seq, subject := whole.seq-1+uint64(p), "observations."+event.SiteToken(site)
		k.put(event.Stored{Stream: event.StreamObservations, Subject: subject, Seq: seq, ID: "poison", Data: []byte("no event"), At: time.Now()})
		k.deadLetter(event.StreamObservations, seq)
		letters := k.list[event.StreamDeadLetters]
		letters[len(letters)-1].Header[event.HeaderSubject] = []string{subject}
	}
	// And one of the catalogue, which only partition 0 puts into the dead
	// letters. The stream has the last message of each subject.
	records := map[string]event.Stored{}
	for _, m := range k.list[event.StreamCatalog] {
		records[m.Subject] = m
	}
	k.list[event.StreamCatalog] = slices.SortedFunc(maps.Values(records), func(a, b event.Stored) int { return cmp.Compare(a.Seq, b.Seq) })
	last := whole.catalogSeq + 1
	k.put(event.Stored{Stream: event.StreamCatalog, Subject: "catalog.item.9", Seq: last, Data: []byte("no event"), At: time.Now()})
	for p, s := range shards {
		s.apply(&event.Batch{Stream: event.StreamCatalog, Epoch: epoch, First: last, Last: last})
		a := s.audit(k, true)
		want := []string{}
		if p == 0 {
			want = []string{fmt.Sprintf("lost CATALOG 1 at %d-%d", last, last)}
		}
		equals.Slices(t, want, found(a), "partition %d: found", p)
		if a.DeadLetters != 1 || a.Gone != 0 || a.Copies != 0 || a.Events+a.DeadLetters+a.Others != whole.seq || a.Compared != a.Events {
			t.Errorf("partition %d: %+v", p, a)
		}
	}
	k.deadLetter(event.StreamCatalog, last)
	var damaged key
	for id := range maps.Keys(shards[1].tableRows("observations", 0)) {
		damaged = id
		break
	}
	for _, table := range []string{"observations", "ingested_events"} {
		must.Get(shards[1].db.Exec("DELETE FROM "+table+" WHERE seq = ?", damaged.Seq))(t)
	}
	if got, want := found(shards[1].audit(k, false)), fmt.Sprintf("lost OBSERVATIONS 1 at %d-%d", damaged.Seq, damaged.Seq); !slices.Contains(got, want) {
		t.Errorf("found %q, want %q among them", got, want)
	}
	if got := found(shards[0].audit(k, false)); len(got) > 0 {
		t.Errorf("found %q in the other partition", got)
	}
}

// TestRefusesTablesOfAnotherPartition: neither a projector nor an audit accepts
// tables that were written under other partition numbers, and the projector
// writes nothing there.
func TestRefusesTablesOfAnotherPartition(t *testing.T) {
	single := newWorld(t)
	second := single.shard(1, 3)
	begun := single.shard(1, 3) // leads, but has applied nothing
	for _, w := range []*world{single, second} {
		w.apply(w.catalog(mandate(1, 8)))
		w.apply(share(w.observations(3), w.cfg.Partition, w.cfg.Partitions))
	}
	must.Do(t, begun.p.Maintain(t.Context()))
	for _, c := range []struct {
		what                  string
		on                    *world
		partition, partitions int
		want                  string
	}{
		{"the same", single, 0, 1, ""},
		{"the same", second, 1, 3, ""},
		{"nothing was written", single.shard(0, 1), 1, 2, ""},
		{"one of two on single tables", single, 0, 2, "partition 0 of 1 wrote them, and this is partition 0 of 2"},
		{"another", second, 2, 3, "partition 1 of 3 wrote them, and this is partition 2 of 3"},
		{"another number", second, 1, 2, "partition 1 of 3 wrote them, and this is partition 1 of 2"},
		{"the single form on one of three", second, 0, 1, "partition 1 of 3"},
		{"another before it applied anything", begun, 0, 3, "partition 1 of 3 wrote them"},
	} {
		var before, after uint64
		c.on.scan("SELECT count() FROM leader_fences", nil, &before)
		cfg := c.on.cfg
		cfg.Fence += 10
		cfg.Partition, cfg.Partitions = c.partition, c.partitions
		p, _ := c.on.projector(c.on.server.ProjectorDSN, cfg)
		_, err := p.Resume(t.Context(), event.StreamObservations, made(epoch))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
			continue
		}
		c.on.scan("SELECT count() FROM leader_fences", nil, &after)
		if !errors.Is(err, projector.ErrOtherPartition) || !errors.Is(err, event.ErrRefused) || !strings.Contains(err.Error(), c.want) || after != before {
			t.Errorf("%s: %v, want %q; %d fences, before %d", c.what, err, c.want, after, before)
		}
		audit := projector.DefaultAuditConfig()
		audit.Conn, audit.Streams, audit.Partition, audit.Partitions = c.on.conn, newKept(t), c.partition, c.partitions
		a := must.Get(projector.NewAuditor(audit))(t)
		if _, err := a.Run(t.Context()); !errors.Is(err, projector.ErrOtherPartition) {
			t.Errorf("%s: the audit says %v", c.what, err)
		}
	}
}

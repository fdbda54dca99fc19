package event_test

import (
	"hash/fnv"
	"testing"

	"pgregory.net/rapid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
)

// TestPartition has values that must never change: they determine where every
// installation with several partitions keeps its data.
func TestPartition(t *testing.T) {
	for _, c := range []struct {
		subject                       string
		of1, of2, of3, of16, of65_536 int
	}{
		{"observations.shop-0=example", 0, 1, 0, 11, 3438469323 % 65_536},
		{"observations.shop-1=example", 0, 0, 2, 0, 208711760 % 65_536},
		{"observations.markt=example", 0, 1, 1, 3, 736714867 % 65_536},
		{"observations.amazon=de", 0, 1, 1, 11, 576447067 % 65_536},
		{"observations.elsewhere", 0, 1, 2, 11, 404146571 % 65_536},
		{"observations.a", 0, 0, 1, 12, 3826002220 % 65_536}, // from the authors' test vectors: e40c292c
		{"observations.kaffee-söhne=example", 0, 0, 0, 0, 492883824 % 65_536},
		{"observations.a.b", 0, 0, 1, 12, 277607692 % 65_536}, // not an event's subject: its dead letter still belongs to a partition
		{"observations.", 0, 1, 1, 5, 2166136261 % 65_536},
		{"catalog.site.markt=example", 0, 0, 0, 0, 0},
		{"catalog.item.7", 0, 0, 0, 0, 0},
		{"", 0, 0, 0, 0, 0},
	} {
		for _, p := range []struct{ partitions, want int }{{0, 0}, {1, c.of1}, {2, c.of2}, {3, c.of3}, {16, c.of16}, {65_536, c.of65_536}} {
			equals.Is(t, p.want, event.Partition(c.subject, p.partitions), "%q is of partition of %d", c.subject, p.partitions)
		}
	}
}

// TestPartitionOfSites: the library's hash decides, and all events of a site
// stay together.
func TestPartitionOfSites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		site := contracts.SiteKey(rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,63}`).Draw(t, "site"))
		n := rapid.IntRange(1, 1<<16).Draw(t, "partitions")
		h := fnv.New32a()
		h.Write([]byte(event.SiteToken(site)))
		e := event.Event{Data: &contracts.Observations{Site: site}}
		if got, want := event.Partition(e.Subject(), n), int(h.Sum32()%uint32(n)); got != want {
			t.Fatalf("%s is of partition %d of %d, want %d", site, got, n, want)
		}
	})
}

func TestCheckPartition(t *testing.T) {
	for _, c := range []struct {
		partition, partitions int
		ok                    bool
	}{
		{0, 1, true},
		{0, 2, true},
		{1, 2, true},
		{65_535, 65_536, true},
		{0, 0, false},
		{0, -1, false},
		{1, 1, false},
		{2, 2, false},
		{-1, 2, false},
		{0, 65_537, false},
	} {
		if err := event.CheckPartition(c.partition, c.partitions); (err == nil) != c.ok {
			t.Errorf("%d of %d: %v", c.partition, c.partitions, err)
		}
	}
}

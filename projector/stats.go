package projector

import "maps"

import "time"

// Stats counts what a Projector has done since it was created.
type Stats struct {
	Batches          uint64 // of observations, applied
	Events           uint64 // of observations, applied
	Rows             uint64 // written to observations
	FannedRows       uint64 // written to observations_by_mandate, without backfills
	ExpiredRows      uint64 // not written: their captures were below the floor when they arrived
	DuplicateEvents  uint64 // dropped: the event id was ingested from another place
	ReplayedEvents   uint64 // skipped: at or below the checkpoint
	Failures         uint64 // calls that failed
	Repairs          uint64 // batches that were read back before they were written
	RepairedRows     uint64 // rows that a repair found missing, in all tables
	Killed           uint64 // statements ended because their outcome was unknown
	CatalogRecords   uint64 // catalogue records written
	ScopeVersions    uint64 // scopes published
	GrantedPairs     uint64
	RevokedPairs     uint64
	Backfills        uint64 // statements
	PendingDeletions uint64 // mandates whose rows of lost pairs are being deleted; a gauge
	WaitingGrants    uint64 // mandates with a grant that waits for such a deletion; a gauge
	ScopePairs       uint64 // pairs in force, over all mandates; a gauge
	Mandates         uint64 // with a scope; a gauge

	Floor       time.Time             // the capture time from which rows are kept; zero: all are
	Checkpoints map[string]Checkpoint // by stream
}

// Checkpoint is how far a stream is applied.
type Checkpoint struct {
	Epoch uint32
	Seq   uint64
}

// Stats returns the counters. It does not wait for batches.
func (p *Projector) Stats() Stats {
	p.statsMu.Lock()
	defer p.statsMu.Unlock()
	s := p.stats
	s.Checkpoints = make(map[string]Checkpoint, len(p.stats.Checkpoints))
	maps.Copy(s.Checkpoints, p.stats.Checkpoints)
	return s
}

func (p *Projector) count(f func(*Stats)) {
	p.statsMu.Lock()
	defer p.statsMu.Unlock()
	f(&p.stats)
}

// gauge updates the figures that are gauges.
func (p *Projector) gauge() {
	p.count(func(s *Stats) {
		s.Floor = p.floor.time()
		s.PendingDeletions, s.WaitingGrants, s.ScopePairs, s.Mandates = 0, 0, 0, uint64(len(p.views))
		for _, v := range p.views {
			s.ScopePairs += uint64(v.scope.pairs())
			if v.busy() {
				s.PendingDeletions++
			}
			if v.waits {
				s.WaitingGrants++
			}
		}
		s.Checkpoints = make(map[string]Checkpoint, len(p.marks))
		for k, m := range p.marks {
			s.Checkpoints[k] = Checkpoint{m.epoch, m.seq}
		}
	})
}

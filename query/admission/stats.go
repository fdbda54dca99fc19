package admission

import "time"

type counts struct {
	peak      int64
	reclaimed uint64
	waited    time.Duration
	refused   [ofNode + 1]uint64
}

// Stats shows what is spent at the moment, and how charges that did not fit
// ended.
type Stats struct {
	Memory, Held, Peak int64 // bytes: the limit, in use now, and the most in use so far
	Standing           int64 // the part of Held that standing charges take, such as buffers
	Reads, Streams     int   // running
	Waiting            int   // charges that wait
	Accounts           int   // with running reads
	Rows, LongRows     int   // running statements for observations; of these, those of streams
	Records            int   // running statements for the catalogue
	Sums               int   // running statements that sum up observations
	StatementsWaiting  int

	Reclaimed                   uint64 // rooms taken back from clients that received nothing
	RefusedAccount, RefusedNode uint64 // because of the account's share, or of the node's limits
	Waited                      time.Duration
}

// Stats returns the current figures.
func (n *Node) Stats() Stats {
	n.mu.Lock()
	s := Stats{
		Memory: n.cfg.Memory, Held: n.total(), Peak: n.counts.peak, Standing: n.used[standing],
		Waiting: n.waiting, Accounts: len(n.accounts),
		Reclaimed: n.counts.reclaimed, RefusedAccount: n.counts.refused[ofAccount], RefusedNode: n.counts.refused[ofNode], Waited: n.counts.waited,
	}
	for _, a := range n.accounts {
		for r := range a.reads {
			if s.Reads++; r.stream {
				s.Streams++
			}
		}
	}
	n.mu.Unlock()
	s.Rows, s.LongRows, s.StatementsWaiting = n.rows.stats()
	records, _, waiting := n.records.stats()
	sums, _, alsoWaiting := n.sums.stats()
	s.Records, s.Sums, s.StatementsWaiting = records, sums, s.StatementsWaiting+waiting+alsoWaiting
	return s
}

func (s *statements) stats() (held, long, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held, s.long, len(s.waiting)
}

package admission

import "time"

type counts struct {
	peak      int64
	reclaimed uint64
	waited    time.Duration
	refused   [ofNode + 1]uint64
}

// Stats is what is spent at the moment, and what became of who wanted more.
type Stats struct {
	Memory, Held, Peak int64 // bytes: all there is, in use, most in use so far
	Standing           int64 // of what is in use, buffers of reads
	Reads, Streams     int   // under way
	Waiting            int   // charges that wait
	Accounts           int   // with reads under way
	Rows, LongRows     int   // statements for observations; those of streams
	Records            int   // statements for the catalogue
	StatementsWaiting  int

	Reclaimed                   uint64 // parts taken back from clients that took nothing
	RefusedAccount, RefusedNode uint64 // for the account's share, and for the node's
	Waited                      time.Duration
}

// Stats gives the figures.
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
	s.Records, s.StatementsWaiting = records, s.StatementsWaiting+waiting
	return s
}

func (s *statements) stats() (held, long, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held, s.long, len(s.waiting)
}

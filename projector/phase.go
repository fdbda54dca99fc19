package projector

import "context"

// phase is what a Projector knows about the statements that the server runs for
// it. Only ready, which runs while no batch is under way, leads to steady:
//
//	phase      what happens                                     next
//	---------  -----------------------------------------------  ---------
//	unstarted  ready: start succeeds                            steady
//	unstarted  ready: a step of start fails                     unstarted
//	steady     ready                                            steady
//	steady     a write fails (failed; sweep, which goes on)     unsure
//	unsure     another write fails                              unsure
//	unsure     ready: older statements are ended (fenceOff),    steady
//	           the checkpoints are those written (holdMarks),
//	           floor and announcement are settled
//	unsure     ready: one of these steps fails                  unsure
//
// Everything else that a failed write leaves open is kept apart, as it may be
// settled at another time:
//
//	field        is set by                                  until
//	-----------  -----------------------------------------  ------------------------------
//	uncertain    loadMarks, where tables go beyond the      the checkpoint of the
//	             checkpoint; noteFailure, to the end of     observations has passed it
//	             its batch
//	failing      a batch that fails before its caller       finish of that batch has told
//	             knows: those after it fail too             its caller
//	unannounced  start; enforce and markApplied; a batch    announce, or a checkpoint of
//	             of the catalogue that changes scopes       the catalogue
//	loading      a batch of the catalogue with others       the last of them
//	             pending
//	proven       loadProof, where the checkpoint has a      the next leader starts
//	             proof or is the first; Prove
type phase uint8

const (
	unstarted phase = iota // nothing: older leaders may still write
	steady                 // nothing runs that it is not waiting for
	unsure                 // a write failed: it may still run
)

// becomeUnsure records that a write failed. Before the start nothing is known
// anyway.
func (p *Projector) becomeUnsure() {
	if p.phase == steady {
		p.phase = unsure
	}
}

// failed records that a write may still be running on the server.
func (p *Projector) failed(err error) error {
	p.becomeUnsure()
	p.count(func(s *Stats) { s.Failures++ })
	return err
}

// quiesce waits until no batch is under way and brings the Projector to a known
// state.
func (p *Projector) quiesce(ctx context.Context) error {
	p.settle()
	return p.ready(ctx)
}

// ready brings the Projector to a known state: at the first call, and again
// after a failure. No batch is under way then.
func (p *Projector) ready(ctx context.Context) error {
	switch p.phase {
	case unstarted:
		if err := p.start(ctx); err != nil {
			return err
		}
	case unsure:
		if err := inOrder(ctx, p.fenceOff, p.holdMarks, p.seeFloor, p.announce); err != nil {
			return err
		}
	}
	p.phase = steady
	return nil
}

// inOrder runs steps up to the first that fails.
func inOrder(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

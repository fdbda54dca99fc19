package projector

import (
	"context"
	"time"
)

// inForce names the row of checkpoints that changes whenever what is in force
// may have: scopes, scopes_applied, and what accounts may do. With the checkpoint
// of the catalogue it is what a query node asks for before it goes on by what it
// remembers (contracts/decisions/028-what-a-node-remembers.md).
const inForce = "IN_FORCE"

// announce lets readers know that what is in force changed, if it did. A scope is in
// force for them from then on: before rows are written or deleted that they would
// miss or see by the one before.
func (p *Projector) announce(ctx context.Context) error {
	if !p.unannounced {
		return nil
	}
	// A time, so that it also rises where the tables came back from a backup.
	now := place{seq: max(uint64(time.Now().UnixNano()), p.marks[inForce].seq+1)}
	if err := p.checkpoint(ctx, inForce, attested{at: now}); err != nil {
		return err
	}
	p.marks[inForce], p.unannounced = now, false
	return nil
}

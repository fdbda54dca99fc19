package projector

import (
	"context"
	"time"
)

// inForce names the row of checkpoints that changes whenever what is in force
// may have changed: scopes, scopes_applied, and what accounts may do. A query
// node reads it together with the checkpoint of the catalogue before it relies
// on what it remembers (contracts/decisions/028-what-a-node-remembers.md).
const inForce = "IN_FORCE"

// announce lets readers know that what is in force changed, if it did. From
// then on a scope is in force for them: this comes before rows are written or
// deleted that they would miss, or see under the scope before.
func (p *Projector) announce(ctx context.Context) error {
	if !p.unannounced {
		return nil
	}
	// A time, so that it also rises after the tables were restored from a
	// backup.
	now := position{seq: max(uint64(time.Now().UnixNano()), p.marks[inForce].seq+1)}
	if err := p.checkpoint(ctx, inForce, attested{at: now}, nil); err != nil {
		return err
	}
	p.marks[inForce], p.unannounced = now, false
	return nil
}

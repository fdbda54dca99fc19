package ingest

import (
	"context"

	"preismon/contracts/event"
)

// Sink takes what the consumer loop read, in order. Its calls never overlap.
// When a call fails the loop waits and calls again with the same batch: a
// Sink must stand that, and must not have acknowledged anything before.
type Sink interface {
	// Resume tells the last sequence of the stream's incarnation that needs
	// no delivery any more; 0: deliver from the first.
	Resume(ctx context.Context, stream string, epoch uint32) (seq uint64, err error)
	// ApplyCatalog takes master data. The whole catalogue, up to the end that
	// it had when the loop started, comes before the first observations.
	ApplyCatalog(ctx context.Context, b *event.Batch) error
	// ApplyObservations takes batches of observations.
	ApplyObservations(ctx context.Context, b *event.Batch) error
}

package ingest

import (
	"context"

	"preismon/contracts/event"
)

// Sink takes what the consumer loop read, in order. Its calls never overlap;
// finish alone may wait beside another call. When a batch fails the loop waits
// and gives the same batch again: a Sink must stand that, and must not have
// acknowledged anything before. An error that is event.ErrDeposed or
// event.ErrRefused or event.ErrGap ends the loop, and event.ErrForked does once the stream has a
// new epoch: begin again with a new Sink.
type Sink interface {
	// Resume tells the last sequence of the stream, as it is now, that needs
	// no delivery any more; 0: deliver from the first.
	Resume(ctx context.Context, stream string, now event.Incarnation) (seq uint64, err error)
	// Taken gives the ids of the events that were taken from a range of
	// sequences of an incarnation of OBSERVATIONS, as far as the sink knows.
	Taken(ctx context.Context, stream string, epoch uint32, first, last uint64) (ids map[uint64]string, err error)
	// ApplyCatalog takes master data. One that it rejects is *event.Rejected, which
	// goes into the dead letters. The whole catalogue, up to the end that
	// it had when the loop started, comes before the first observations. No
	// batch of observations is under way then.
	ApplyCatalog(ctx context.Context, b *event.Batch) error
	// BeginObservations takes a batch of observations and returns when the
	// next may be begun; finish waits for the batch's end. At most
	// maxUnderWay are begun and not finished. When one fails, those begun
	// after it must fail too; all are finished before any is begun again.
	BeginObservations(ctx context.Context, b *event.Batch) (finish func() error)
}

// maxUnderWay is how many batches a Sink has at once while a backlog waits:
// one that it writes, and one that it makes ready meanwhile.
const maxUnderWay = 2

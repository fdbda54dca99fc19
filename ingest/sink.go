package ingest

import (
	"context"

	"preismon/contracts/event"
)

// Sink applies what the consumer loop has read, in order. Its calls never
// overlap, except that finish may wait during another call. When a batch fails
// the loop waits and passes the same batch again: a Sink must tolerate that,
// and must not have acknowledged anything before. An error that is
// event.ErrDeposed or event.ErrRefused or event.ErrGap ends the loop, and so
// does event.ErrForked after the stream has been given a new epoch: begin again
// with a new Sink.
type Sink interface {
	// Resume returns the last sequence of the current stream that need not be
	// delivered any more; 0: deliver from the first.
	Resume(ctx context.Context, stream string, now event.Incarnation) (seq uint64, err error)
	// Taken returns what was taken from a range of sequences of a stream's
	// incarnation, as far as the sink knows: the ids of the events of
	// OBSERVATIONS, the subjects of the records of CATALOG.
	Taken(ctx context.Context, stream string, epoch uint32, first, last uint64) (taken map[uint64]string, err error)
	// ApplyCatalog applies master data. A record that it rejects is reported as
	// *event.Rejected and goes into the dead letters. The whole catalogue, up
	// to the end that it had when the loop started, comes before the first
	// observations. No batch of observations is under way during the call.
	ApplyCatalog(ctx context.Context, b *event.Batch) error
	// BeginObservations begins a batch of observations and returns when the
	// next may be begun; finish waits for the batch's end. At most maxUnderWay
	// are begun and not finished. When one fails, those begun after it must
	// fail too; all are finished before any is begun again.
	BeginObservations(ctx context.Context, b *event.Batch) (finish func() error)
}

// maxUnderWay is how many batches a Sink has at once while there is a backlog:
// one that it writes, and one that it prepares meanwhile.
const maxUnderWay = 2

package rest

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"
)

// pace is how fast a client takes an answer. Only time spent waiting for the
// client counts: a stream that has nothing to send makes no client slow.
type pace struct {
	stall time.Duration
	least int64 // bytes a second

	waited time.Duration // since the last check
	taken  int64         // in that time
	rate   int64         // at the last check
	slow   bool
}

var errSlow = errors.New("the client reads too slowly")

// took records what was written in a time, and fails if the client took nothing
// during one stall, or less than it must over one.
func (p *pace) took(bytes int, in time.Duration, err error) error {
	p.waited, p.taken = p.waited+in, p.taken+int64(bytes)
	late := errors.Is(err, os.ErrDeadlineExceeded) && in >= p.stall*9/10 // otherwise it ended for another reason
	p.slow = p.slow || late
	if late || p.waited >= p.stall {
		p.rate = int64(float64(p.taken) / p.waited.Seconds())
		p.slow = p.slow || p.rate < p.least
		p.waited, p.taken = 0, 0
	}
	if p.slow {
		return errors.Join(errSlow, err)
	}
	return err
}

// logSlow logs which reader was broken off.
func (a *api) logSlow(r *http.Request, x *exchange) {
	a.log.LogAttrs(r.Context(), slog.LevelWarn, "reader broken off: too slow",
		slog.String("operation", r.Method+" "+x.route), slog.String("request_id", x.id), slog.String("account", x.account.String()),
		slog.Int64("bytes", x.bytes), slog.Int64("bytes_per_second", x.pace.rate), slog.Int64("least", x.pace.least))
}

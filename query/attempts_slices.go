package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"preismon/contracts"
)

// sliceLengths are the steps by which a window is shortened (GEN-G3).
var sliceLengths = []time.Duration{24 * time.Hour, 12 * time.Hour, 6 * time.Hour, time.Hour}

// slices covers a part by consecutive closed windows that share no instant;
// nil: the number allowed by most is not enough. The newest row of each pair
// cannot be found in slices.
func (w *attemptFinder) slices(ctx context.Context, p part, most int) ([]ResultsRequest, error) {
	if w.latest != AllRows || p.window.To.IsZero() {
		return nil, nil
	}
	// No capture is older than the earliest slice of an open window.
	lo, hi := max(p.window.From.UnixMilli(), earliestSlice(contracts.Window{})), p.window.To.UnixMilli()
	if hi < lo {
		return nil, nil
	}
	for _, length := range w.lengths(hi-lo, most) {
		attempts, err := w.slicesOf(ctx, p, lo, hi, length, most)
		if err != nil || attempts != nil {
			return attempts, err
		}
	}
	return nil, nil
}

// slicesOf returns the slices of one length; nil: there are too many, or one is
// not accepted. Everything is in milliseconds. Windows include their bounds, so
// each slice but the last ends an instant before the next begins, and the last
// may be as long as is allowed.
func (w *attemptFinder) slicesOf(ctx context.Context, p part, lo, hi, length int64, most int) ([]ResultsRequest, error) {
	n := max(1, parts(hi-lo, length))
	if n > int64(most) {
		return nil, nil
	}
	var attempts []ResultsRequest
	for i := range n {
		from, to := lo+i*length, lo+(i+1)*length-1
		if i == n-1 {
			to = hi
		}
		p.window = contracts.Window{From: time.UnixMilli(from), To: time.UnixMilli(to)}
		r := w.request(p)
		if ok, err := w.accepts(ctx, r); err != nil || !ok {
			return nil, err
		}
		attempts = append(attempts, r)
	}
	if w.original.Sort != "asc" {
		slices.Reverse(attempts)
	}
	return attempts, nil
}

// lengths returns the lengths to try for the slices of a window, the longest
// first, including the longest that a global read and the scan guard allow. For
// a read that was too slow it is one step down, but never so short that the
// attempts do not suffice.
func (w *attemptFinder) lengths(window int64, most int) (shorter []int64) {
	all := slices.Clone(sliceLengths)
	if !w.slow {
		all = append(all, maxGlobalWindow, time.Duration(w.service.cfg.ScanGuardMaxHours)*time.Hour)
	}
	for _, length := range all {
		if ms := length.Milliseconds(); ms > 0 && ms < window {
			shorter = append(shorter, ms)
		}
	}
	slices.SortFunc(shorter, func(a, b int64) int { return cmp.Compare(b, a) })
	if w.slow && len(shorter) > 0 {
		return []int64{max(shorter[0], parts(window, int64(most)))}
	}
	return shorter
}

// parts is the number of parts of a size, the last maybe smaller, in a whole.
func parts(whole, size int64) int64 { return (whole + size - 1) / size }

// instant formats a bound of a window in UTC; an open bound is empty.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

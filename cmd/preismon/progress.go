package main

import (
	"cmp"
	"io"
	"log/slog"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/schollz/progressbar/v3"
)

// progress shows the progress of a long run: a bar on a terminal, otherwise a
// log line from time to time.
type progress struct {
	what string
	bar  *progressbar.ProgressBar
	log  *slog.Logger
	last time.Time
	max  int64
}

const progressLogEvery = 10 * time.Second

// newProgress starts the display; max 0 means that the end is unknown.
func newProgress(w io.Writer, log *slog.Logger, what string, max int64) *progress {
	p := &progress{what: what, log: log, last: time.Now(), max: max}
	if isTerminal(w) {
		p.bar = progressbar.NewOptions64(cmp.Or(max, -1),
			progressbar.OptionSetWriter(drawing(w)), progressbar.OptionUseANSICodes(true), progressbar.OptionSetDescription(what), progressbar.OptionSetWidth(24),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish())
	}
	return p
}

// at reports how far the run is.
func (p *progress) at(n int64) {
	if p.bar != nil {
		_ = p.bar.Set64(n) // a bar that cannot be drawn is no reason to stop
		return
	}
	if time.Since(p.last) >= progressLogEvery {
		p.last = time.Now()
		p.log.Info(p.what, "done", n, "of", p.max)
	}
}

func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// steps shows the progress of one step after another.
type steps struct {
	to   io.Writer
	log  *slog.Logger
	show *progress // of the current step; nil: none has begun
}

func (s *steps) at(what string, n, max int64) {
	if s.show == nil || s.show.what != what {
		s.end()
		s.show = newProgress(s.to, s.log, what, max)
	}
	s.show.at(n)
}

func (s *steps) end() {
	if s.show != nil {
		s.show.end()
	}
}

// plural formats a number of things: 1 row, 1,034 rows.
func plural[T ~int | ~int64 | ~uint32 | ~uint64](n T, thing string) string {
	return thousands(n) + " " + english.PluralWord(int(n), thing, "")
}

// thousands formats a count for people: 1,034,567.
func thousands[T ~int | ~int64 | ~uint32 | ~uint64](n T) string { return humanize.Comma(int64(n)) }

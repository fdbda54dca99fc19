package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// lifecycle starts parts in order and stops them in reverse order. If a part
// ends by itself with an error, everything stops with that error.
type lifecycle struct {
	log    *slog.Logger
	stops  []stopper
	failed chan error
}

type stopper struct {
	name string
	stop func(ctx context.Context) error
}

func newLifecycle(log *slog.Logger) *lifecycle {
	return &lifecycle{log: log, failed: make(chan error, 1)}
}

// defers registers how to stop a part that is already running.
func (l *lifecycle) defers(name string, stop func(ctx context.Context) error) {
	l.stops = append(l.stops, stopper{name, stop})
}

// run starts a part that blocks until its context ends.
func (l *lifecycle) run(name string, part func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := part(ctx)
		if err != nil && ctx.Err() == nil {
			l.fails(name, err)
			err = nil // it has been reported already
		}
		done <- err
	}()
	l.defers(name, func(grace context.Context) error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-grace.Done():
			return fmt.Errorf("did not stop in time")
		}
	})
}

// fails reports that a part has ended by itself; only the first one counts.
func (l *lifecycle) fails(name string, err error) {
	select {
	case l.failed <- fmt.Errorf("%s: %w", name, err):
	default:
	}
}

// wait blocks until ctx ends or a part fails.
func (l *lifecycle) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-l.failed:
		return err
	}
}

// stop stops all parts in reverse order, each within the grace time.
func (l *lifecycle) stop(grace time.Duration) error {
	var errs []error
	for _, s := range slices.Backward(l.stops) {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		if err := s.stop(ctx); err != nil && !errors.Is(err, context.Canceled) {
			errs = append(errs, fmt.Errorf("stop %s: %w", s.name, err))
		}
		cancel()
		l.log.Debug("stopped", "part", s.name)
	}
	l.stops = nil
	return errors.Join(errs...)
}

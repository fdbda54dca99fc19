package main

import (
	"context"
	"fmt"

	"preismon/contracts/event"
	"preismon/ingest"
)

// appliedFlags select whether a command that publishes waits for the tables,
// and for which.
type appliedFlags struct {
	Wait       bool `help:"Wait until the projectors have written everything." default:"true" negatable:""`
	Partitions int  `help:"Number of partitions of the projectors to wait for. Needed only while projectors with different numbers of partitions read the streams." default:"0" placeholder:"N"`
}

func (f appliedFlags) faults() error {
	if f.Partitions == 0 {
		return nil
	}
	return event.CheckPartition(0, f.Partitions)
}

// wait waits for the tables, unless waiting is switched off.
func (f appliedFlags) wait(ctx context.Context, b *bus) error {
	if !f.Wait {
		return nil
	}
	if err := ingest.WaitApplied(ctx, b.js, f.Partitions); err != nil {
		return fmt.Errorf("everything is published, but not known to be in the tables yet: %w", err)
	}
	return nil
}

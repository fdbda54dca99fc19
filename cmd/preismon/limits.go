package main

import (
	"errors"

	"preismon/projector"
)

// pairFlags bound what one record of the catalogue may cost the projectors.
type pairFlags struct {
	Order   int `name:"max-order-pairs" help:"Items times sites of one active order, at most. What has more goes into the dead letters. The same for all projectors." default:"5000000"`
	Mandate int `name:"max-mandate-pairs" help:"The same of all active orders of a mandate together, within its package." default:"10000000"`
}

func (f pairFlags) faults() error {
	switch {
	case f.Order < 1:
		return errors.New("max-order-pairs: must be positive")
	case f.Mandate < f.Order:
		return errors.New("max-mandate-pairs: must be at least max-order-pairs")
	}
	return nil
}

func (f pairFlags) set(c *projector.Config) { c.MaxOrderPairs, c.MaxMandatePairs = f.Order, f.Mandate }

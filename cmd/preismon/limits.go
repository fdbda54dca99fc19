package main

import (
	"errors"

	"preismon/projector"
)

// pairFlags bound what one record of the catalogue may cost the projectors.
type pairFlags struct {
	Order   int `name:"max-order-pairs" help:"Maximum number of pairs (items times sites) of one active order; one with more becomes a dead letter. Use the same value for all projectors." default:"5000000"`
	Mandate int `name:"max-mandate-pairs" help:"Maximum number of pairs of all active orders of a mandate together, within its package. Use the same value for all projectors." default:"10000000"`
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

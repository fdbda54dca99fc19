package market

import "preismon/contracts"

// Pairs returns what the market captures: each item at each site that is
// searched for it.
func (m *Market) Pairs() []contracts.Pair {
	all := make([]contracts.Pair, len(m.pairs))
	for i, p := range m.pairs {
		all[i] = p.key()
	}
	return all
}

package maps

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"github.com/cespare/xxhash/v2"

	"preismon/contracts"
)

// Published gives what earlier imports published of a site, or an error in
// place of what could not be read.
type Published func(contracts.SiteKey) iter.Seq2[*contracts.Observations, error]

// known is what earlier imports published of one site: an observation is known
// by its item, its capture time and what its offers say, and not by the file or
// the batch that it came in. It takes 16 bytes an observation.
type known struct {
	captures []uint64 // of items and times, sorted
	contents []uint64 // of those and what they say, sorted

	fresh [][2]uint64 // both of what this import publishes

	newest, arrived prices // nil: nobody asks what changes
}

// Memory is what earlier imports published, by site, as far as it was asked for.
type Memory struct{ sites map[contracts.SiteKey]*known }

// NewMemory gives a memory for the imports of one run.
func NewMemory() *Memory { return &Memory{map[contracts.SiteKey]*known{}} }

// verdict is what known says of an observation.
type verdict uint8

const (
	isNew   verdict = iota
	isKnown         // the same was published
	isOther         // another of the same item and time was
)

// learn takes what was published.
func (k *known) learn(published iter.Seq2[*contracts.Observations, error]) error {
	for batch, err := range published {
		if err != nil {
			return err
		}
		for i := range batch.Observations {
			capture, content := fingerprint(&batch.Observations[i])
			k.captures, k.contents = append(k.captures, capture), append(k.contents, content)
			if k.newest != nil {
				k.newest.take(&batch.Observations[i])
			}
		}
	}
	slices.Sort(k.captures)
	slices.Sort(k.contents)
	return nil
}

// add takes what this import publishes; it counts after settle.
func (k *known) add(o *contracts.Observation) {
	if k != nil {
		capture, content := fingerprint(o)
		k.fresh = append(k.fresh, [2]uint64{capture, content})
		if k.arrived != nil {
			k.arrived.take(o)
		}
	}
}

// settle makes what this import published known to the next one.
func (k *known) settle() {
	for _, f := range k.fresh {
		k.captures, k.contents = append(k.captures, f[0]), append(k.contents, f[1])
	}
	if k.fresh != nil {
		slices.Sort(k.captures)
		slices.Sort(k.contents)
	}
	k.fresh = nil
}

func (k *known) judge(o *contracts.Observation) verdict {
	if k == nil || len(k.captures) == 0 {
		return isNew
	}
	capture, content := fingerprint(o)
	if _, same := slices.BinarySearch(k.contents, content); same {
		return isKnown
	}
	if _, there := slices.BinarySearch(k.captures, capture); there {
		return isOther
	}
	return isNew
}

// fingerprint hashes the item and the time of an observation, and all of it.
func fingerprint(o *contracts.Observation) (capture, content uint64) {
	var at [16]byte
	binary.BigEndian.PutUint64(at[:8], uint64(o.ItemID))
	binary.BigEndian.PutUint64(at[8:], uint64(o.CapturedAt.UnixMilli()))
	return xxhash.Sum64(at[:]), xxhash.Sum64(appendObservation(nil, o))
}

// knownAt reads what earlier imports published of the site, once.
func (im *importer) knownAt(s *site) (*known, error) {
	if im.Published == nil {
		return nil, nil
	}
	k := im.known[s.Site.Site]
	if k == nil {
		k = &known{}
		if im.Changes {
			k.newest, k.arrived = prices{}, prices{}
		}
		if err := k.learn(im.Published(s.Site.Site)); err != nil {
			return nil, fmt.Errorf("read what was imported of %s before: %w", s.Site.Site, err)
		}
		im.known[s.Site.Site] = k
	}
	return k, nil
}

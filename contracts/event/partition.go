package event

import (
	"fmt"
	"strings"
)

// maxPartitions bounds the number of partitions: tables store it in 16 bits.
const maxPartitions = 1 << 16

// Partition returns the partition of a message by its subject, from 0 to
// partitions-1. For OBSERVATIONS it is
//
//	FNV-1a, 32 bits, of the site as the subject has it, modulo partitions
//
// with the offset basis 2166136261 and the prime 16777619 of its authors
// (Fowler, Noll and Vo; draft-eastlake-fnv), over the bytes after
// "observations.". Every other subject belongs to partition 0. Tables are laid
// out by it, so it must never change.
func Partition(subject string, partitions int) int {
	site, ok := strings.CutPrefix(subject, "observations.")
	if !ok || partitions <= 1 {
		return 0
	}
	h := uint32(2166136261)
	for i := range len(site) {
		h = (h ^ uint32(site[i])) * 16777619
	}
	return int(h % uint32(partitions))
}

// CheckPartition returns what is wrong with "partition of partitions", or nil.
func CheckPartition(partition, partitions int) error {
	switch {
	case partitions < 1 || partitions > maxPartitions:
		return fmt.Errorf("partitions: %d, from 1 to %d", partitions, maxPartitions)
	case partition < 0 || partition >= partitions:
		return fmt.Errorf("partition: %d, of %d they are numbered from 0 to %d", partition, partitions, partitions-1)
	}
	return nil
}

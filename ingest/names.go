package ingest

import "strconv"

// ProjectorLease is the key of the lease of the projectors of a partition of
// so many. Those of another number have another: they fill tables of their
// own from the same streams, and must not take each other's place.
func ProjectorLease(partition, partitions int) string {
	return name("projector", ".", partition, partitions)
}

// ProjectorConsumer is the name of the durable consumers of the projectors of
// a partition of so many, for the same reason.
func ProjectorConsumer(partition, partitions int) string {
	return name("projector", "-", partition, partitions)
}

// RebuildConsumer is the name of the durable consumers of a rebuild of the
// tables of a partition of so many.
func RebuildConsumer(partition, partitions int) string {
	return name("rebuild", "-", partition, partitions)
}

// name joins what is to be told apart; a single partition has no number of
// them in its names.
func name(role, sep string, partition, partitions int) string {
	if partitions > 1 {
		role += sep + strconv.Itoa(partitions)
	}
	return role + sep + strconv.Itoa(partition)
}

package ingest

import "strconv"

// ProjectorLease returns the key of the lease for the projectors of one of
// several partitions. Projectors with another number of partitions have another
// lease: they fill tables of their own from the same streams, and must not take
// each other's place.
func ProjectorLease(partition, partitions int) string {
	return name("projector", ".", partition, partitions)
}

// ProjectorConsumer returns the name of the durable consumers for the
// projectors of one of several partitions, which differs for the same reason.
func ProjectorConsumer(partition, partitions int) string {
	return name("projector", "-", partition, partitions)
}

// RebuildConsumer returns the name of the durable consumers for a rebuild of
// the tables of one of several partitions.
func RebuildConsumer(partition, partitions int) string {
	return name("rebuild", "-", partition, partitions)
}

// name joins the parts that distinguish names; with a single partition the
// number of partitions is omitted.
func name(role, sep string, partition, partitions int) string {
	if partitions > 1 {
		role += sep + strconv.Itoa(partitions)
	}
	return role + sep + strconv.Itoa(partition)
}

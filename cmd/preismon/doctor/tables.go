package doctor

import (
	"context"
	"errors"
	"time"

	"preismon/contracts/event"
	"preismon/projector"
)

// Clocks that differ by at least the first make captures look late or early; by
// at least the second, tokens may be refused.
const (
	clocksDiffer = time.Second
	clocksWrong  = 30 * time.Second
)

// tables checks ClickHouse, its clock and the schema.
func (s *Site) tables(ctx context.Context) []Finding {
	const check = "ClickHouse"
	queriedAt := s.Now()
	version, now, err := projector.Server(ctx, s.Tables)
	if err != nil {
		return one(check, Bad, "clickhouse client --query 'SELECT 1' # does it run, are --clickhouse-dsn and its user right", "it does not answer: %v", err)
	}
	found := one(check, OK, "", "version %s", version)
	found = append(found, s.clock("clock of ClickHouse", now, queriedAt)...)

	err = projector.CheckTables(ctx, s.Tables, s.Partition, s.Partitions)
	switch {
	case err == nil:
		return append(found, one("schema", OK, "", "that of this program")...)
	case errors.Is(err, projector.ErrOtherPartition):
		return append(found, one("schema", Bad, s.command("doctor --partition N --partitions M")+" # as the projector of these tables has them", "%v", err)...)
	case errors.Is(err, event.ErrRefused):
		return append(found, one("schema", Bad, "preismon migrate --clickhouse-dsn DSN # of the version that runs", "%v", err)...)
	}
	return append(found, one("schema", Unknown, "preismon migrate --clickhouse-dsn DSN --check", "%v", err)...)
}

// clock compares a server's time with the times before the query and after its answer.
func (s *Site) clock(check string, theirs, queriedAt time.Time) []Finding {
	answered := s.Now()
	difference := max(queriedAt.Sub(theirs), theirs.Sub(answered), 0)
	return one(check, beyond(difference, clocksDiffer, clocksWrong), "timedatectl set-ntp true", "%s apart from this machine's", difference.Round(time.Millisecond))
}

package query

import (
	"math"
	"time"

	"preismon/contracts"
)

// zoneFormat writes instants as RFC 3339 with milliseconds in one zone. It
// remembers the offset of the last instant and how long it holds, so that a run
// of rows needs no lookup of the zone's rules. Before standard time, clocks
// also differed from UTC by seconds; there, times are written with the offset
// in whole minutes, so that each still denotes its instant.
type zoneFormat struct {
	loc      *time.Location
	from, to int64 // ms, half open: where offset holds
	offset   int64 // seconds east of UTC

	// The local minute of the last instant: rows come in order of time.
	minute, minuteEnd int64 // ms, half open: where prefix and suffix hold
	into              int64 // ms by which minute is after the start of the local minute
	prefix, suffix    []byte
}

func newZoneFormat(loc *time.Location) *zoneFormat { return &zoneFormat{loc: loc, from: 1, to: 0} }

func (z *zoneFormat) lookUp(ms int64) {
	t := time.UnixMilli(ms).In(z.loc)
	start, _ := t.ZoneBounds()
	offset, end := contracts.OffsetAt(t, z.loc)
	z.from, z.to = math.MinInt64, math.MaxInt64
	if !start.IsZero() {
		z.from = start.UnixMilli()
	}
	if !end.IsZero() {
		z.to = end.UnixMilli()
	}
	z.offset = int64(offset) / 60 * 60 // RFC 3339 offsets have no seconds: the local time moves by them
}

// append writes the instant: 2026-03-01T09:30:00.250+01:00.
func (z *zoneFormat) append(b []byte, ms int64) []byte {
	if ms < z.minute || ms >= z.minuteEnd {
		z.setMinute(ms)
	}
	rest := ms - z.minute + z.into
	b = append(b, z.prefix...)
	second, milli := rest/1000, rest%1000
	b = append(b, byte('0'+second/10), byte('0'+second%10), '.', byte('0'+milli/100), byte('0'+milli/10%10), byte('0'+milli%10))
	return append(b, z.suffix...)
}

const (
	endOf9999 = 253_402_300_800_000 // ms
	westmost  = -(23*3600 + 59*60)  // seconds: the westernmost offset of RFC 3339
)

// setMinute prepares all but the seconds for the instants of a local minute.
func (z *zoneFormat) setMinute(ms int64) {
	if ms < z.from || ms >= z.to {
		z.lookUp(ms)
	}
	offset := z.offset
	if ms+offset*1000 >= endOf9999 {
		offset = westmost // RFC 3339 has four digits for a year
	}
	local := time.UnixMilli(ms).In(time.FixedZone("", int(offset)))
	begin := ms - int64(local.Second())*1000 - int64(local.Nanosecond())/1_000_000
	z.minute, z.minuteEnd = max(begin, z.from), min(begin+60_000, z.to)
	z.into = z.minute - begin
	z.prefix = local.AppendFormat(z.prefix[:0], "2006-01-02T15:04:")
	z.suffix = local.AppendFormat(z.suffix[:0], "Z07:00")
}

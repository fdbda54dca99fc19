package query

import (
	"math"
	"time"

	"preismon/contracts"
)

// zoneFormat writes instants as RFC 3339 with milliseconds in one zone. It
// remembers the offset of the last instant and how long it holds, so that a
// run of rows costs no look at the zone's rules. Before standard time clocks
// differed from UTC by seconds too; there, times are written by the offset in
// whole minutes, so that each still is the instant that it names.
type zoneFormat struct {
	loc      *time.Location
	from, to int64 // ms, half open: where offset holds
	offset   int64 // seconds east of UTC

	// The local minute of the last instant: rows come in order of time.
	minute, minuteEnd int64 // ms, half open: where prefix and suffix hold
	into              int64 // ms of the local minute that minute lies behind its beginning
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
	z.offset = int64(offset) / 60 * 60 // RFC 3339 knows no seconds of one: the local time moves by them
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
	westmost  = -(23*3600 + 59*60)  // seconds: the offset of RFC 3339 that is farthest west
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
	days, rest := floorDiv(ms+offset*1000, 86_400_000)
	begin := ms - rest%60_000
	z.minute, z.minuteEnd = max(begin, z.from), min(begin+60_000, z.to)
	z.into = z.minute - begin
	y, m, d := civil(days)
	b := append4(z.prefix[:0], y)
	b = append2(append(b, '-'), m)
	b = append2(append(b, '-'), d)
	b = append2(append(b, 'T'), rest/3_600_000)
	b = append2(append(b, ':'), rest/60_000%60)
	z.prefix = append(b, ':')
	if offset == 0 {
		z.suffix = append(z.suffix[:0], 'Z')
		return
	}
	sign, minutes := byte('+'), offset/60
	if minutes < 0 {
		sign, minutes = '-', -minutes
	}
	b = append2(append(z.suffix[:0], sign), minutes/60)
	z.suffix = append2(append(b, ':'), minutes%60)
}

func floorDiv(a, n int64) (q, r int64) {
	q, r = a/n, a%n
	if r < 0 {
		q, r = q-1, r+n
	}
	return q, r
}

// civil turns days since 1970-01-01 into a proleptic Gregorian date (the
// days-to-civil algorithm on 400-year eras that begin on March 1st).
func civil(days int64) (y, m, d int64) {
	era, doe := floorDiv(days+719_468, 146_097)
	yoe := (doe - doe/1_460 + doe/36_524 - doe/146_096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = doy - (153*mp+2)/5 + 1
	m = mp + 3
	if m > 12 {
		m -= 12
	}
	y = yoe + era*400
	if m <= 2 {
		y++
	}
	return y, m, d
}

func append2(b []byte, v int64) []byte { return append(b, byte('0'+v/10), byte('0'+v%10)) }

func append4(b []byte, v int64) []byte {
	return append2(append2(b, v/100), v%100)
}

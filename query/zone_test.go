package query

import (
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"

	"pgregory.net/rapid"
)

var zones = []string{
	"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe",
	"America/Sao_Paulo", "Pacific/Apia", "Africa/Monrovia", "Pacific/Kiritimati", "America/St_Johns", "Asia/Tehran",
}

// TestZoneFormat compares with package time: FLD-01b.
func TestZoneFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc := must.Get(contracts.LoadZone(rapid.SampledFrom(zones).Draw(t, "zone")))(t)
		z := newZoneFormat(loc)
		from, to := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), time.Date(2099, 12, 31, 0, 0, 0, 0, time.UTC).UnixMilli()
		near := rapid.Int64Range(0, 100_000).Draw(t, "near") // rows come in order of time
		var instants []int64
		for _, ms := range rapid.SliceOfN(rapid.Int64Range(from, to), 1, 20).Draw(t, "instants") {
			instants = append(instants, ms, ms+near, ms-near)
		}
		for _, ms := range instants {
			want := time.UnixMilli(ms).In(loc).Format("2006-01-02T15:04:05.000Z07:00")
			if got := string(z.append(nil, ms)); got != want {
				t.Fatalf("%d in %s: %s, want %s", ms, loc, got, want)
			}
		}
	})
}

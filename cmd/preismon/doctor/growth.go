package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/shirou/gopsutil/v4/disk"

	"preismon/projector"
)

// When a disk is about to be full.
const (
	roomShort = 30 * 24 * time.Hour
	roomEnds  = 7 * 24 * time.Hour
)

// growth looks how large the tables are, and for how long there is room.
func (s *Site) growth(ctx context.Context) []Finding {
	size, err := projector.TablesSize(ctx, s.Tables, s.Partition)
	if err != nil {
		return one("size", Unknown, "clickhouse client --query 'SELECT sum(bytes_on_disk) FROM system.parts' # as a user that may read it", "%v", err)
	}
	return room(size, s.free(ctx))
}

// free is what is free of the disk of the tables; 0: it is not known.
func (s *Site) free(ctx context.Context) uint64 {
	if s.DataDir == "" {
		disk, _, err := projector.ServerRoom(ctx, s.Tables)
		if err != nil {
			return 0
		}
		return disk.Free
	}
	u, err := disk.UsageWithContext(ctx, s.DataDir)
	if err != nil {
		return 0
	}
	return u.Free
}

// quarter is how long tables grow that drop quarters until they drop the next.
const quarter = 92 * 24 * time.Hour

// room tells for how long the tables can grow, or whether they can until rows go.
func room(size projector.Size, free uint64) []Finding {
	const check = "size"
	const mend = "df -h # a larger disk for ClickHouse, or a shorter --keep-rows or a smaller --keep-rows-size of the projector"
	says := fmt.Sprintf("the tables have %s, and %s rows of observations", humanize.IBytes(size.Bytes), humanize.Comma(int64(size.Rows)))
	switch {
	case size.Daily == 0:
		return one(check, OK, "", "%s", says)
	case free == 0:
		return one(check, OK, "", "%s; a day adds %s", says, humanize.IBytes(size.Daily))
	}
	if enough := float64(size.Daily) * quarter.Hours() / 24; size.Drops && float64(free) > enough {
		return one(check, OK, "", "%s; a day adds %s, and the disk has room until the next quarter is dropped", says, humanize.IBytes(size.Daily))
	}
	days := float64(free) / float64(size.Daily)
	state := OK
	switch left := days * 24; {
	case left < roomEnds.Hours():
		state = Bad
	case left < roomShort.Hours():
		state = Warning
	}
	return one(check, state, mend, "%s; a day adds %s, so that the disk is full in %.0f days", says, humanize.IBytes(size.Daily), days)
}

package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/shirou/gopsutil/v4/disk"

	"preismon/projector"
)

// How long before a disk is full there is a finding.
const (
	roomShort = 30 * 24 * time.Hour
	roomEnds  = 7 * 24 * time.Hour
)

// growth checks how large the tables are, and for how long there is room.
func (s *Site) growth(ctx context.Context) []Finding {
	size, err := projector.TablesSize(ctx, s.Tables, s.Partition)
	if err != nil {
		return one("size", Unknown, "clickhouse client --query 'SELECT sum(bytes_on_disk) FROM system.parts' # as a user that may read it", "%v", err)
	}
	return room(size, s.free(ctx))
}

// free returns the free bytes on the disk of the tables; 0: unknown.
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

// quarter is how long tables that drop quarters grow before they drop the next.
const quarter = 92 * 24 * time.Hour

// room reports for how long the tables can grow, or that the disk lasts until
// rows are dropped.
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
	return one(check, below(days*24, roomShort.Hours(), roomEnds.Hours()), mend, "%s; a day adds %s, so that the disk is full in %.0f days", says, humanize.IBytes(size.Daily), days)
}

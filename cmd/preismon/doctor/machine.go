package doctor

import (
	"context"

	"github.com/dustin/go-humanize"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"
)

// disk looks at the disk of the data folder. ClickHouse merges need room for
// copies of what they merge.
func (s *Site) disk(ctx context.Context) []Finding {
	const check = "disk"
	u, err := disk.UsageWithContext(ctx, s.DataDir)
	if err != nil {
		return one(check, Unknown, "df -h "+s.DataDir, "%v", err)
	}
	state := beyond(u.UsedPercent, 80, 95)
	if u.Free < 2<<30 {
		state = Bad
	}
	return one(check, state, "du -xh --max-depth=2 "+s.DataDir+" | sort -h | tail # make room: full, nothing more is written", "%s free of %s where %s is",
		humanize.IBytes(u.Free), humanize.IBytes(u.Total), s.DataDir)
}

// memory looks at what programs can still have.
func (s *Site) memory(ctx context.Context) []Finding {
	const check = "memory"
	m, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return one(check, Unknown, "free -h", "%v", err)
	}
	state := OK
	switch {
	case m.Available < 512<<20:
		state = Bad
	case m.Available < 2<<30:
		state = Warning
	}
	return one(check, state, "ps -eo rss,pid,args --sort=-rss | head # end what else runs there", "%s available of %s", humanize.IBytes(m.Available), humanize.IBytes(m.Total))
}

package doctor

import (
	"context"

	"github.com/dustin/go-humanize"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"

	"preismon/projector"
)

// disk checks the disk of the data folder. ClickHouse merges need room for
// copies of what they merge.
func (s *Site) disk(ctx context.Context) []Finding {
	const check = "disk"
	u, err := disk.UsageWithContext(ctx, s.DataDir)
	if err != nil {
		return one(check, Unknown, "df -h "+s.DataDir, "%v", err)
	}
	return onDisk(check, "du -xh --max-depth=2 "+s.DataDir+" | sort -h | tail # make room: full, nothing more is written", u.Free, u.Total, " where "+s.DataDir+" is")
}

// onDisk returns a finding about the free space of a disk.
func onDisk(check, mend string, free, total uint64, where string) []Finding {
	state := beyond(100*float64(total-free)/float64(total), 80, 95)
	if free < 2<<30 {
		state = Bad
	}
	return one(check, state, mend, "%s free of %s%s", humanize.IBytes(free), humanize.IBytes(total), where)
}

// memory checks how much memory is available to programs.
func (s *Site) memory(ctx context.Context) []Finding {
	const check = "memory"
	m, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return one(check, Unknown, "free -h", "%v", err)
	}
	return inMemory(check, m.Available, m.Total)
}

// inMemory returns a finding about available memory.
func inMemory(check string, available, total uint64) []Finding {
	return one(check, below(available, 2<<30, 512<<20), "ps -eo rss,pid,args --sort=-rss | head # end what else runs there", "%s available of %s", humanize.IBytes(available), humanize.IBytes(total))
}

// serverRoom checks the disk and the memory of a ClickHouse that runs elsewhere.
func (s *Site) serverRoom(ctx context.Context) []Finding {
	const onDisks = "disk of ClickHouse"
	disk, memory, err := projector.ServerRoom(ctx, s.Tables)
	if err != nil {
		return one(onDisks, Unknown, "clickhouse client --query 'SELECT * FROM system.disks' # as the user of --clickhouse-dsn, who needs GRANT SELECT ON system.disks and ON system.asynchronous_metrics", "%v", err)
	}
	var found []Finding
	if disk.Total > 0 {
		found = onDisk(onDisks, "df -h # there; make room: full, nothing more is written", disk.Free, disk.Total, " of its fullest disk")
	}
	if memory.Total > 0 {
		found = append(found, inMemory("memory of ClickHouse", memory.Free, memory.Total)...)
	}
	return found
}

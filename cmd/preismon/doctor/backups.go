package doctor

import (
	"context"
	"path/filepath"
	"time"

	"preismon/projector/backup"
)

// Ages of the newest backup, and of the newest drill, from which on they are findings.
const (
	backupOld  = 7 * 24 * time.Hour
	backupLate = 30 * 24 * time.Hour
	drillOld   = 30 * 24 * time.Hour
)

// backups checks the newest backup, and the last one that was restored as a
// test.
func (s *Site) backups(context.Context) []Finding {
	const check = "backup"
	mend := s.command("backup")
	all, err := backup.Folders(s.Backups...)
	if err != nil {
		return one(check, Unknown, s.command("backup list"), "%v", err)
	}
	if len(all) == 0 || !all[0].Whole {
		return one(check, Warning, mend, "there is none in %s", s.Backups[0])
	}
	newest := all[0]
	age := s.Now().Sub(newest.Taken)
	found := one(check, beyond(age, backupOld, backupLate), mend, "%q of %s, %d hours ago", filepath.Base(newest.Path), newest.Taken.Format(time.RFC3339), int(age.Hours()))
	return append(found, s.restores()...)
}

// serverBackups queries ClickHouse for its newest backup, if no folder of
// backups is known.
func (s *Site) serverBackups(ctx context.Context) []Finding {
	const check = "backup"
	mend := s.tablesCommand("backup") + " --to PLACE"
	newest, err := backup.Newest(ctx, s.Tables)
	switch {
	case err != nil:
		return one(check, Unknown, "clickhouse client --query 'SELECT * FROM system.backups' # as a user that may read it", "ClickHouse does not say: %v", err)
	case newest.IsZero():
		return one(check, Warning, mend, "ClickHouse remembers none since it started; with a backup_log in its configuration it would know older ones")
	}
	age := s.Now().Sub(newest)
	return one(check, beyond(age, backupOld, backupLate), mend, "the newest by ClickHouse of %s, %d hours ago; whether it is still there it does not know", newest.Format(time.RFC3339), int(age.Hours()))
}

// restores checks the last drill.
func (s *Site) restores() []Finding {
	const check = "last proven restore"
	mend := s.command("backup drill")
	drills, err := backup.Drills(s.Drills)
	if err != nil {
		return one(check, Unknown, mend, "%v", err)
	}
	if len(drills) == 0 {
		return one(check, Warning, mend, "no backup was ever restored to see whether it can be")
	}
	last := drills[len(drills)-1]
	at := last.At.Format(time.RFC3339)
	switch {
	case last.Fault != "":
		return one(check, Bad, mend, "%s could not be restored on %s: %s", last.Place, at, last.Fault)
	case !last.Proven():
		return one(check, Bad, mend, "%s came back on %s with %d findings", last.Place, at, last.Findings)
	case s.Now().Sub(last.At) >= drillOld:
		return one(check, Warning, mend, "%s, on %s; that is long ago", last.Place, at)
	}
	return one(check, OK, "", "%s, on %s", last.Place, at)
}

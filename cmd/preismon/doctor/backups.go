package doctor

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// Ages of the newest backup.
const (
	backupOld  = 7 * 24 * time.Hour
	backupLate = 30 * 24 * time.Hour
)

// backups looks for the newest one.
func (s *Site) backups(context.Context) []Finding {
	const check = "backup"
	mend := s.command("backup --to " + s.Now().UTC().Format("2006-01-02"))
	names, err := filepath.Glob(filepath.Join(s.Backups, "*"))
	if err != nil {
		return one(check, Unknown, "", "%v", err)
	}
	var newest time.Time
	name := ""
	for _, of := range names {
		if ended, ok := s.ended(of); ok && ended.After(newest) {
			newest, name = ended, filepath.Base(of)
		}
	}
	if name == "" {
		return one(check, Warning, mend, "there is none in %s", s.Backups)
	}
	age := s.Now().Sub(newest)
	return one(check, beyond(age, backupOld, backupLate), mend, "%q of %s, %d hours ago", name, newest.UTC().Format(time.RFC3339), int(age.Hours()))
}

// ended is when a backup was whole; false: it is not.
func (s *Site) ended(folder string) (last time.Time, whole bool) {
	for _, part := range s.BackupParts {
		info, err := os.Stat(filepath.Join(folder, part))
		if err != nil {
			return last, false
		}
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last, true
}

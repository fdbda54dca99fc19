package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"preismon/projector/backup"

	"github.com/alecthomas/kong"
	"github.com/dustin/go-humanize"
)

type backupListCmd struct {
	roleFlags
	DataDir string   `help:"Data folder whose backups are listed; \"preismon up\" need not be running." type:"path" placeholder:"DIR"`
	In      []string `help:"Further folders with backups." env:"-" type:"path" placeholder:"DIR"`
	JSON    bool     `name:"json" help:"Print one JSON object per line."`
}

// listedBackup is a backup and its last drill.
type listedBackup struct {
	backup.Folder
	Drill *backup.Drill `json:"drill,omitempty"`
}

func (c *backupListCmd) Run(_ context.Context, k *kong.Context, std streams) error {
	var fault error
	if c.DataDir == "" && len(c.In) == 0 {
		fault = fmt.Errorf("data-dir, in: missing; give at least one of them")
	}
	if done, err := c.only(k, std.out, faulty(fault)); done {
		return err
	}
	in := c.In
	var drills []backup.Drill
	if c.DataDir != "" {
		in = append([]string{backupsFor(c.DataDir), serverBackups(c.DataDir)}, in...)
		var err error
		if drills, err = backup.Drills(drillsOf(c.DataDir)); err != nil {
			return err
		}
	}
	folders, err := backup.Folders(in...)
	if err != nil {
		return err
	}
	all := make([]listedBackup, len(folders))
	for i, f := range folders {
		all[i].Folder = f
		if d, ok := backup.LastOf(drills, f.Path, f.Taken); ok {
			all[i].Drill = &d
		}
	}
	if c.JSON {
		to := json.NewEncoder(std.out)
		for _, b := range all {
			if err := to.Encode(b); err != nil {
				return err
			}
		}
		return nil
	}
	return printBackups(std, all)
}

func printBackups(std streams, all []listedBackup) error {
	var rows [][]any
	for _, b := range all {
		taken, upTo := "not whole", "unknown"
		if b.Whole {
			taken = b.Taken.Format(time.RFC3339)
		}
		if b.Checkpoint != nil {
			upTo = fmt.Sprintf("%d:%d", b.Checkpoint.Epoch, b.Checkpoint.Seq)
		}
		rows = append(rows, []any{taken, humanize.IBytes(b.Bytes), upTo, drillState(b.Drill), b.Path})
	}
	return printList(std, []string{"taken", "size", "upTo", "restored", "backup"}, rows, "No backups. `preismon backup` takes one.")
}

func drillState(d *backup.Drill) string {
	switch {
	case d == nil:
		return "never"
	case d.Proven():
		return d.At.Format(time.RFC3339)
	}
	return "FAILED " + d.At.Format(time.RFC3339)
}

// Package doctor examines a running installation and reports what needs
// attention, with the command that fixes it. It only reads.
package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/projector"
)

// State is the result of a check.
type State string

// The states, from good to bad. Unknown is what could not be checked.
const (
	OK      State = "ok"
	Unknown State = "unknown"
	Warning State = "warning"
	Bad     State = "bad"
)

// Finding is one result of a check.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Says  string `json:"says"`
	Fix   string `json:"mend,omitempty"` // a command that fixes it, or shows what to fix
}

// Site is an installation. Checks for empty fields are skipped.
type Site struct {
	Flags   Flags    // that identify it to other commands
	DataDir string   // of `up`
	Backups []string // folders of backups, the first for new ones; none: ClickHouse is queried
	Drills  string   // file that records the drills of backups

	NATS    *nats.Conn
	JS      jetstream.JetStream
	NATSErr error // why there is no connection

	Tables                projector.Conn
	TablesTLS             []string // HOST:PORT of ClickHouse, if it is reached by TLS
	Partition, Partitions int
	Nodes                 []string // base URLs of query nodes
	Admins                []string // admin URLs of roles

	Now func() time.Time
}

// Flags identify a site to the commands that it is mended with.
type Flags struct {
	Both     string // to those on NATS and ClickHouse
	NATS     string // to those on NATS alone
	Tables   string // to those on ClickHouse alone
	Archives string // to those on ClickHouse and the archives
}

// lookFor bounds one check.
const lookFor = 15 * time.Second

// Look runs all checks, one after another, and passes each finding to found as
// soon as it is known.
func (s *Site) Look(ctx context.Context, found func(Finding)) {
	var looks []func(context.Context) []Finding
	if s.DataDir != "" {
		looks = append(looks, s.disk, s.memory)
	} else {
		looks = append(looks, s.serverRoom)
	}
	looks = append(looks, s.tables, s.kept, s.growth, s.streams)
	if s.JS != nil {
		looks = append(looks, s.lag, s.retention, s.letters, s.logins)
	}
	if len(s.Backups) > 0 {
		looks = append(looks, s.backups)
	} else {
		looks = append(looks, s.serverBackups)
	}
	looks = append(looks, s.nodes, s.certificates, s.roles, s.versions)
	for _, look := range looks {
		within, cancel := context.WithTimeout(ctx, lookFor)
		for _, f := range look(within) {
			found(f)
		}
		cancel()
	}
}

func one(check string, state State, mend, format string, args ...any) []Finding {
	if state == OK {
		mend = ""
	}
	return []Finding{{check, state, fmt.Sprintf(format, args...), mend}}
}

// command returns a command of this program on NATS and ClickHouse of the site.
func (s *Site) command(words string) string { return "preismon " + words + " " + s.Flags.Both }

// natsCommand returns one on NATS alone.
func (s *Site) natsCommand(words string) string { return "preismon " + words + " " + s.Flags.NATS }

// tablesCommand returns one on ClickHouse alone.
func (s *Site) tablesCommand(words string) string { return "preismon " + words + " " + s.Flags.Tables }

// archivesCommand returns one on ClickHouse and the archives.
func (s *Site) archivesCommand(words string) string {
	return "preismon " + words + " " + s.Flags.Archives
}

// beyond returns Warning or Bad for values at or above their bounds, otherwise OK.
func beyond[T int | uint64 | float64 | time.Duration](v, warning, bad T) State {
	switch {
	case v >= bad:
		return Bad
	case v >= warning:
		return Warning
	}
	return OK
}

// below returns Warning or Bad for values below their bounds, otherwise OK.
func below[T uint64 | float64 | time.Duration](v, warning, bad T) State {
	switch {
	case v < bad:
		return Bad
	case v < warning:
		return Warning
	}
	return OK
}

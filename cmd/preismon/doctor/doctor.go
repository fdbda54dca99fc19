// Package doctor looks at a running installation and says what needs attention,
// with the command that mends it. It only reads.
package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/projector"
)

// State is what a look came to.
type State string

// The states, from good to bad. Unknown is what could not be looked at.
const (
	OK      State = "ok"
	Unknown State = "unknown"
	Warning State = "warning"
	Bad     State = "bad"
)

// Finding is what one look came to.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Says  string `json:"says"`
	Mend  string `json:"mend,omitempty"` // a command that mends it, or shows what to mend
}

// Site is an installation. Of what is empty nothing is looked at.
type Site struct {
	Flags   string   // that name it to other commands
	DataDir string   // of `up`
	Backups []string // folders of backups, the first for new ones; none: ClickHouse is asked
	Drills  string   // file with the backups that were tried

	NATS    *nats.Conn
	JS      jetstream.JetStream
	NATSErr error // why there is no connection

	Tables                projector.Conn
	TablesTLS             []string // HOST:PORT of ClickHouse, where it is reached by TLS
	Partition, Partitions int
	Nodes                 []string // base URLs of query nodes
	Admins                []string // admin URLs of roles

	Now func() time.Time
}

// lookFor bounds one look.
const lookFor = 15 * time.Second

// Look makes all looks, one after the other, and gives each to found as it
// comes.
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

// command is a command of this program on the site.
func (s *Site) command(words string) string { return "preismon " + words + " " + s.Flags }

// beyond is Warning or Bad from a bound on.
func beyond[T int | uint64 | float64 | time.Duration](v, warning, bad T) State {
	switch {
	case v >= bad:
		return Bad
	case v >= warning:
		return Warning
	}
	return OK
}

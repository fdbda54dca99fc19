package embedded

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
)

// The users of an embedded ClickHouse. Their passwords are in its folder.
const (
	AdminUser     = "preismon_admin"     // everything: migrations, backups, system tables
	ProjectorUser = "preismon_projector" // reads and writes the database, no DDL
	QueryUser     = "preismon_query"     // reads the database, settings within limits, nothing else
)

// DefaultDatabase is the database of preismon. It is not called default: in the
// library, the database of that name is an overlay over the working folder.
const DefaultDatabase = "preismon"

// outputLog has what the child writes to standard output and standard error.
const outputLog = "logs/output.log"

// oldestProgram is the oldest release of a clickhouse program on PATH that is used.
var oldestProgram = [2]int{26, 3}

// ClickHouseConfig configures a ClickHouse server. Only Dir is required.
type ClickHouseConfig struct {
	Dir         string            // its folder, created if missing; holds data, logs, passwords, backups
	Backups     string            // the folder that backups are in; empty: backups in Dir
	Database    string            // created at start; empty: DefaultDatabase
	GrantAlso   string            // one more database, or a prefix ending in *, that the projector and the query user may use
	TCPPort     int               // of 127.0.0.1, for other programs to find it; zero: a free one
	NoProgram   bool              // do not look for a clickhouse program on PATH
	Library     Library           // where the library comes from; the zero value is the user's cache
	LogLevel    string            // of the server's log file; empty: information
	MemoryLimit uint64            // of the server in bytes; zero: half of the machine
	Settings    map[string]string // session settings of all users, such as max_threads
	ExtraConfig []string          // XML elements put into the server's config
	Grace       time.Duration     // between SIGTERM and SIGKILL; zero: 10 s
	Remove      string            // a folder to delete when this process ends without Stop, for tests; empty for none
	Logger      *slog.Logger      // nil: slog.Default()
}

// Validate returns all faults of the configuration at once.
func (c ClickHouseConfig) Validate() error {
	var f contracts.Faults
	f.Check(c.Dir != "", "a folder for ClickHouse is needed")
	f.Check(c.Database == "" || identifier.MatchString(c.Database), "%q is no database name", c.Database)
	f.Check(c.GrantAlso == "" || identifier.MatchString(strings.TrimSuffix(c.GrantAlso, "*")), "%q is no database name or prefix", c.GrantAlso)
	f.Check(c.LogLevel == "" || slices.Contains(logLevels, c.LogLevel), "%q is no log level of ClickHouse", c.LogLevel)
	for name := range c.Settings {
		f.Check(identifier.MatchString(name), "%q is no name of a setting", name)
	}
	return f.Err()
}

var logLevels = []string{"none", "fatal", "critical", "error", "warning", "notice", "information", "debug", "trace", "test"}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

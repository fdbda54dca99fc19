// Package schema holds the read model's tables: numbered migrations as embedded
// SQL, and the runner that brings a database to this program's version.
//
// The runner is our own and small. The established ones (goose, golang-migrate)
// were considered: both keep their log in a table whose engine does not fit a
// cluster unless one rewrites its store, run one statement per file, and do not
// support a single-node and a cluster form of the same DDL; what is left of
// them is a loop over files. ClickHouse's DDL has no transactions, so every
// statement here can be run again (IF NOT EXISTS), and a migration is recorded
// after its last statement.
package schema

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

//go:embed *.sql
var files embed.FS

// Options selects the form of the tables: on one node, on shards with replicas,
// or on shards that are one node each. Rows of observations are spread over the
// shards of a cluster, and each shard keeps its own log of migrations: Migrate
// is run at one node of every shard.
type Options struct {
	// Cluster is the name of the ClickHouse cluster ("{cluster}" uses the
	// server's macro): tables are replicated and created on all of its nodes,
	// with Distributed tables over its shards. Empty: one node.
	Cluster string
	// Unreplicated, with a cluster: its shards have no replicas and need no
	// Keeper; tables are plain, and created only on the node that is connected
	// to.
	Unreplicated bool

	version int // what new tables are like; 0: as the migrations say
}

// Validate refuses options that select no form.
func (o Options) Validate() error {
	if o.Unreplicated && o.Cluster == "" {
		return errors.New("unreplicated: says how the shards of a cluster are, and no cluster is named")
	}
	return nil
}

// replicated reports whether shards have replicas.
func (o Options) replicated() bool { return o.Cluster != "" && !o.Unreplicated }

type migration struct {
	version uint32
	name    string
	text    string // as embedded
	hash    string // SHA-256 of text
}

var overShards = regexp.MustCompile(`CREATE TABLE IF NOT EXISTS (\w+) .*\nENGINE = Distributed\(`)

// overShards returns the names of the tables that the migration creates over
// the shards of a cluster; a single server does not get them.
func (m migration) overShards() (names []string) {
	for _, found := range overShards.FindAllStringSubmatch(m.text, -1) {
		names = append(names, found[1])
	}
	return names
}

// OverShards returns the names of a cluster's tables that hold no rows and read
// those of all shards.
func OverShards() (names []string) {
	for _, m := range all() {
		names = append(names, m.overShards()...)
	}
	return names
}

var fileForm = regexp.MustCompile(`^(\d{4})_([a-z0-9_]+)\.sql$`)

// all returns the migrations in order; their numbers count up from 1.
func all() []migration {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err)
	}
	ms := make([]migration, 0, len(names))
	for i, name := range names {
		part := fileForm.FindStringSubmatch(path.Base(name))
		if part == nil {
			panic("schema: " + name + " is not NNNN_name.sql")
		}
		version, _ := strconv.Atoi(part[1])
		if version != i+1 {
			panic("schema: " + name + " leaves a gap")
		}
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(text)
		ms = append(ms, migration{version: uint32(version), name: part[2], text: string(text), hash: hex.EncodeToString(sum[:])})
	}
	return ms
}

// Version returns the newest schema version that this program knows.
func Version() int { return len(all()) }

// statements renders the text for the options and splits it where a line
// ends in a semicolon.
func statements(text string, o Options) ([]string, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"cluster": func() string {
			if o.Cluster == "" {
				return ""
			}
			return quote(o.Cluster)
		},
		"on_cluster": func() string {
			if !o.replicated() {
				return ""
			}
			return "ON CLUSTER " + quote(o.Cluster)
		},
		"engine": func(e string) string { return engine(e, o) },
	}).Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, nil); err != nil {
		return nil, err
	}
	var out []string
	var cur []string
	for line := range strings.Lines(b.String()) {
		line = strings.TrimRight(line, " \t\r\n")
		if len(cur) == 0 && (line == "" || strings.HasPrefix(line, "--")) {
			continue // between statements
		}
		end := strings.HasSuffix(line, ";")
		cur = append(cur, strings.TrimSuffix(line, ";"))
		if end {
			s := strings.Join(cur, "\n")
			for _, a := range amendments {
				if o.version >= a.since {
					s = a.amend(s)
				}
			}
			out = append(out, s)
			cur = nil
		}
	}
	if len(cur) > 0 {
		return nil, fmt.Errorf("last statement does not end in a semicolon")
	}
	return out, nil
}

// amendments change the statement that creates a table, since a version. Tables
// that an earlier version created stay as they are until they are rebuilt:
// existing migrations are not changed, and no migration copies data.
var amendments = []struct {
	since int
	amend func(statement string) string
}{
	{14, partitioned},
	{15, finer},
}

// quarters maps a table to the expression by which its rows are partitioned by
// quarter of capture, so that those of whole quarters can be removed at no
// cost. Months would make reads of a product's history more expensive:
// contracts/decisions/053-retention-of-the-tables.md.
var quarters = map[string]string{
	"observations":            "toStartOfQuarter(captured_at)",
	"observations_by_mandate": "toStartOfQuarter(fromUnixTimestamp64Milli(-captured_desc, 'UTC'))",
}

var tableForm = regexp.MustCompile(`(?s)^CREATE TABLE IF NOT EXISTS (\w+) .*\nENGINE = (?:Replicated)?MergeTree[^\n]*\n`)

// partitioned adds the partitioning to a statement that creates such a table.
func partitioned(statement string) string {
	found := tableForm.FindStringSubmatch(statement)
	if found == nil || quarters[found[1]] == "" {
		return statement
	}
	return found[0] + "PARTITION BY " + quarters[found[1]] + "\n" + statement[len(found[0]):]
}

// finer makes the granules of observations_by_mandate smaller: a page reads two
// or three of each part of the table.
func finer(statement string) string {
	if !strings.HasPrefix(statement, "CREATE TABLE IF NOT EXISTS observations_by_mandate ") {
		return statement
	}
	return strings.Replace(statement, "index_granularity = 2048", "index_granularity = 1024", 1)
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// engine returns the replicated form of a MergeTree engine where there are
// replicas.
func engine(e string, o Options) string {
	if !o.replicated() {
		return e
	}
	name, args, _ := strings.Cut(strings.TrimSuffix(e, ")"), "(")
	out := "Replicated" + name + "('/clickhouse/tables/{shard}/{database}/{table}', '{replica}'"
	if args != "" {
		out += ", " + args
	}
	return out + ")"
}

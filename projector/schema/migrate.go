package schema

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/projector/clickhouse"
)

// What Migrate and Check refuse; the texts are meant for operators.
var (
	// ErrNotMigrated means that the database or some of its tables are missing.
	ErrNotMigrated = errors.New("the ClickHouse schema is not up to date")
	// ErrNewer means that a newer program wrote the schema.
	ErrNewer = errors.New("the ClickHouse schema is newer than this program")
	// ErrEdited means that a migration is not the one that was applied.
	ErrEdited = errors.New("an applied migration was edited")
	// ErrPlain means that replicated tables are requested where there are plain
	// ones.
	ErrPlain = errors.New("the tables have no replicas")
)

const logTable = `CREATE TABLE IF NOT EXISTS schema_migrations {{on_cluster}} (
    version    UInt32,
    name       String,
    sha256     String,
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = {{engine "ReplacingMergeTree(applied_at)"}}
ORDER BY version;
`

// Migrate creates the database of the DSN if it is missing and brings it to
// this program's version. It does nothing if the database already has that
// version, and may be run again after any failure. It refuses with ErrNewer,
// ErrEdited or ErrPlain.
//
// With a cluster it creates the tables over the shards even if all migrations
// were applied before: there may have been no cluster then.
//
// Several may run concurrently, because every statement does nothing if it was
// already applied.
func Migrate(ctx context.Context, dsn string, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	cfg, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return err
	}
	if err := createDatabase(ctx, cfg, o); err != nil {
		return fmt.Errorf("create database %s: %w", cfg.Database, err)
	}
	pool := clickhouse.Open(cfg, 1)
	defer pool.Close() //nolint:errcheck // nothing is left to say
	return migrate(ctx, pool, o, all())
}

// migrate is Migrate for a database that exists and a program that knows these
// migrations.
func migrate(ctx context.Context, conn clickhouse.Conn, o Options, known []migration) error {
	if err := checkPlain(ctx, conn, o); err != nil {
		return err
	}
	o.version = len(known)
	for _, s := range mustStatements(logTable, o) {
		if err := conn.Do(ctx, ch.Query{Body: s}); err != nil {
			return fmt.Errorf("create schema_migrations: %w", err)
		}
	}
	done, err := appliedMigrations(ctx, conn)
	if err != nil {
		return err
	}
	if _, err := compare(done, known); err != nil {
		return err
	}
	for _, m := range known {
		switch _, ok := done[m.version]; {
		case !ok:
			err = apply(ctx, conn, m, o)
		case o.Cluster != "" && len(m.overShards()) > 0:
			err = run(ctx, conn, m, o)
		}
		if err != nil {
			return fmt.Errorf("migration %04d_%s: %w", m.version, m.name, err)
		}
	}
	return nil
}

// checkPlain refuses replicas for tables that are plain, judging by the engine
// of their migration log: their rows would reach no other server.
func checkPlain(ctx context.Context, conn clickhouse.Conn, o Options) error {
	if !o.replicated() {
		return nil
	}
	var engine string
	if err := conn.Do(ctx, clickhouse.Scan(ch.Query{
		Body: "SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = 'schema_migrations'",
	}, clickhouse.Row{"engine": &engine}, nil)); err != nil {
		return fmt.Errorf("look for tables: %w", err)
	}
	if engine == "ReplacingMergeTree" {
		return fmt.Errorf("%w: they were made for one server, and what is in them would reach no other; "+
			"take a new database and fill it from the streams, or, if the shards are single servers, say --unreplicated", ErrPlain)
	}
	return nil
}

// Check reports whether the database has this program's version: nil,
// ErrNotMigrated, ErrNewer or ErrEdited.
func Check(ctx context.Context, conn clickhouse.Conn) error { return check(ctx, conn, math.MaxUint32) }

// CheckReads is Check for programs that only read: a newer schema is just as
// good, because migrations remove nothing. A reader of several shards also
// needs the tables over them.
func CheckReads(ctx context.Context, conn clickhouse.Conn, shards int) error {
	if err := check(ctx, conn, uint32(Version())); err != nil || shards <= 1 {
		return err
	}
	return checkOverShards(ctx, conn)
}

func checkOverShards(ctx context.Context, conn clickhouse.Conn) error {
	missing := OverShards()
	var name string
	if err := conn.Do(ctx, clickhouse.Scan(ch.Query{
		Body: "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed'",
	}, clickhouse.Row{"name": &name}, func() {
		missing = slices.DeleteFunc(missing, func(m string) bool { return m == name })
	})); err != nil {
		return fmt.Errorf("look for the tables over the shards: %w", err)
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: the tables over the shards are missing (%s); run `preismon migrate --clickhouse-cluster NAME` at every shard, with --unreplicated if the shards are single servers",
			ErrNotMigrated, strings.Join(missing, ", "))
	}
	return nil
}

// check compares the migrations up to newest.
func check(ctx context.Context, conn clickhouse.Conn, newest uint32) error {
	done, err := appliedMigrations(ctx, conn)
	if ch.IsErr(err, proto.ErrUnknownTable, proto.ErrUnknownDatabase) {
		return fmt.Errorf("%w: run `preismon migrate`", ErrNotMigrated)
	}
	if err != nil {
		return err
	}
	maps.DeleteFunc(done, func(v uint32, _ string) bool { return v > newest })
	pending, err := compare(done, all())
	if err != nil {
		return err
	}
	if len(pending) > 0 {
		return fmt.Errorf("%w: it has version %d and this program needs %d; run `preismon migrate`", ErrNotMigrated, len(done), Version())
	}
	return nil
}

// compare returns the migrations that have not been applied yet.
func compare(done map[uint32]string, known []migration) (pending []migration, err error) {
	newest := slices.Max(slices.AppendSeq([]uint32{0}, maps.Keys(done)))
	if int(newest) > len(known) {
		return nil, fmt.Errorf("%w: the data has version %d, this program knows versions up to %d; start the newer program, or use another database or data folder",
			ErrNewer, newest, len(known))
	}
	for _, m := range known {
		switch hash, ok := done[m.version]; {
		case !ok:
			pending = append(pending, m)
		case hash != m.hash:
			return nil, fmt.Errorf("%w: %04d_%s differs from what the database was made with; migrations are never edited, add a new one",
				ErrEdited, m.version, m.name)
		}
	}
	return pending, nil
}

func appliedMigrations(ctx context.Context, conn clickhouse.Conn) (map[uint32]string, error) {
	var (
		version uint32
		hash    string
		done    = map[uint32]string{}
	)
	err := conn.Do(ctx, clickhouse.Scan(ch.Query{Body: "SELECT version, sha256 FROM schema_migrations FINAL ORDER BY version"},
		clickhouse.Row{"version": &version, "sha256": &hash}, func() { done[version] = hash }))
	if err != nil {
		return nil, fmt.Errorf("read schema_migrations: %w", err)
	}
	return done, nil
}

// run runs the statements of a migration.
func run(ctx context.Context, conn clickhouse.Conn, m migration, o Options) error {
	sts, err := statements(m.text, o)
	if err != nil {
		return err
	}
	for _, s := range sts {
		if err := conn.Do(ctx, ch.Query{Body: s}); err != nil {
			first, _, _ := strings.Cut(s, "\n")
			return fmt.Errorf("%s: %w", first, err)
		}
	}
	return nil
}

// apply runs a migration and records it.
func apply(ctx context.Context, conn clickhouse.Conn, m migration, o Options) error {
	if err := run(ctx, conn, m, o); err != nil {
		return err
	}
	return conn.Do(ctx, ch.Query{
		Body: "INSERT INTO schema_migrations (version, name, sha256) VALUES",
		Input: proto.Input{
			{Name: "version", Data: proto.ColUInt32{m.version}},
			{Name: "name", Data: colStr(m.name)},
			{Name: "sha256", Data: colStr(m.hash)},
		},
		Settings: []ch.Setting{ch.SettingInt("async_insert", 0)},
	})
}

// createDatabase connects without the database, which may not exist yet.
func createDatabase(ctx context.Context, cfg clickhouse.Config, o Options) error {
	name := cfg.Database
	cfg.Database = "default"
	pool := clickhouse.Open(cfg, 1)
	defer pool.Close() //nolint:errcheck // nothing is left to say
	n, err := clickhouse.Number(ctx, pool, "SELECT count() AS n FROM system.databases WHERE name = {name:String}", map[string]any{"name": name})
	if err != nil {
		return err
	}
	if n == 1 {
		return nil // a user who may not create databases can still migrate
	}
	return pool.Do(ctx, ch.Query{Body: mustStatements("CREATE DATABASE IF NOT EXISTS `"+strings.ReplaceAll(name, "`", "``")+"` {{on_cluster}};", o)[0]})
}

func mustStatements(text string, o Options) []string {
	s, err := statements(text, o)
	if err != nil {
		panic(err)
	}
	return s
}

func colStr(s string) *proto.ColStr {
	c := new(proto.ColStr)
	c.Append(s)
	return c
}

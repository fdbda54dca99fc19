package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/projector/clickhouse"
)

// What Migrate and Check refuse; their texts are fit for an operator.
var (
	// ErrNotMigrated: the database or some of its tables are missing.
	ErrNotMigrated = errors.New("the ClickHouse schema is not up to date")
	// ErrNewer: a newer program wrote the schema.
	ErrNewer = errors.New("the ClickHouse schema is newer than this program")
	// ErrEdited: a migration is not the one that was applied.
	ErrEdited = errors.New("an applied migration was edited")
)

// Doer runs statements; *clickhouse.Pool is one.
type Doer interface {
	Do(ctx context.Context, q ch.Query) error
}

const logTable = `CREATE TABLE IF NOT EXISTS schema_migrations {{on_cluster}} (
    version    UInt32,
    name       String,
    sha256     String,
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = {{engine "ReplacingMergeTree(applied_at)"}}
ORDER BY version;
`

// Migrate makes the database of the DSN if it is missing and brings it to
// this program's version. It does nothing when it is there already, and may
// be run again after any failure. ErrNewer and ErrEdited say what it refuses.
func Migrate(ctx context.Context, dsn string, o Options) error {
	cfg, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return err
	}
	if err := createDatabase(ctx, cfg, o); err != nil {
		return fmt.Errorf("create database %s: %w", cfg.Database, err)
	}
	pool := clickhouse.Open(cfg, 1)
	defer pool.Close() //nolint:errcheck // nothing is left to say
	for _, s := range mustStatements(logTable, o) {
		if err := pool.Do(ctx, ch.Query{Body: s}); err != nil {
			return fmt.Errorf("create schema_migrations: %w", err)
		}
	}
	done, err := applied(ctx, pool)
	if err != nil {
		return err
	}
	pending, err := compare(done, all())
	if err != nil {
		return err
	}
	for _, m := range pending {
		if err := apply(ctx, pool, m, o); err != nil {
			return fmt.Errorf("migration %04d_%s: %w", m.version, m.name, err)
		}
	}
	return nil
}

// Check tells whether the database stands at this program's version: nil,
// ErrNotMigrated, ErrNewer or ErrEdited.
func Check(ctx context.Context, conn Doer) error {
	done, err := applied(ctx, conn)
	if ch.IsErr(err, proto.ErrUnknownTable, proto.ErrUnknownDatabase) {
		return fmt.Errorf("%w: run `preismon migrate`", ErrNotMigrated)
	}
	if err != nil {
		return err
	}
	pending, err := compare(done, all())
	if err != nil {
		return err
	}
	if len(pending) > 0 {
		return fmt.Errorf("%w: it has version %d and this program needs %d; run `preismon migrate`", ErrNotMigrated, len(done), Version())
	}
	return nil
}

// compare gives the migrations that are not done yet.
func compare(done map[uint32]string, known []migration) (pending []migration, err error) {
	newest := uint32(0)
	for v := range done {
		newest = max(newest, v)
	}
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

func applied(ctx context.Context, conn Doer) (map[uint32]string, error) {
	var (
		version proto.ColUInt32
		hash    proto.ColStr
		done    = map[uint32]string{}
	)
	err := conn.Do(ctx, ch.Query{
		Body:   "SELECT version, sha256 FROM schema_migrations FINAL ORDER BY version",
		Result: proto.Results{{Name: "version", Data: &version}, {Name: "sha256", Data: &hash}},
		OnResult: func(context.Context, proto.Block) error {
			for i, v := range version {
				done[v] = hash.Row(i)
			}
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("read schema_migrations: %w", err)
	}
	return done, nil
}

func apply(ctx context.Context, conn Doer, m migration, o Options) error {
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
	var n proto.ColUInt64
	if err := pool.Do(ctx, ch.Query{
		Body:       "SELECT count() AS n FROM system.databases WHERE name = {name:String}",
		Parameters: ch.Parameters(map[string]any{"name": name}),
		Result:     proto.Results{{Name: "n", Data: &n}},
	}); err != nil {
		return err
	}
	if len(n) == 1 && n[0] == 1 {
		return nil // whoever may not create databases can still migrate
	}
	return pool.Do(ctx, ch.Query{Body: mustStatements("CREATE DATABASE IF NOT EXISTS `"+strings.ReplaceAll(name, "`", "``")+"` {{on_cluster}};", o)[0]})
}

// Wait calls Check until the schema is there, as a projector does that starts
// together with the migration. It gives up at once on ErrNewer and ErrEdited.
func Wait(ctx context.Context, conn Doer, every time.Duration) error {
	for {
		err := Check(ctx, conn)
		if !errors.Is(err, ErrNotMigrated) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(every):
		}
	}
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

// Package backup saves the read model with ClickHouse's own BACKUP and restores
// it. Its callers are the operators' commands.
//
// ClickHouse saves a database table by table, while the projector writes. So
// the checkpoints are saved first: everything up to them was in all tables by
// then, and what the other tables hold beyond them is the tail that every
// projector reads back and completes when it starts. What only a running
// projector can vouch for is emptied after a restore: which scopes are applied
// (until the projector has checked, readers filter by pairs) and the fences of
// leaders of that time. The package guarantees nothing about the streams,
// artifacts and keys: those are not in ClickHouse.
package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts"
	"preismon/projector/clickhouse"
)

// Location is where a backup is: a name in the folder that the server's
// configuration allows (backups.allowed_path), or a URL of an S3 bucket with
// a prefix.
type Location struct {
	Name   string // without a slash
	URL    string // https://host:port/bucket/prefix
	Key    string
	Secret contracts.Secret
}

// Validate returns every fault of the location.
func (p Location) Validate() error {
	var f contracts.Faults
	if p.URL == "" {
		f.Check(p.Name != "" && !strings.HasPrefix(p.Name, ".") && !strings.ContainsAny(p.Name, `/\'`), "backup name: %q, must be a name without a slash", p.Name)
		return f.Err()
	}
	f.Check(p.Name == "", "backup place: a name and a URL")
	f.Check(p.Key != "" && p.Secret != "", "backup place: key or secret are missing")
	return f.Err()
}

// of returns a part of the backup, as SQL.
func (p Location) of(part string) string {
	if p.URL == "" {
		return "File(" + quote(p.Name+"/"+part) + ")"
	}
	return "S3(" + quote(strings.TrimSuffix(p.URL, "/")+"/"+part) + ", " + quote(p.Key) + ", " + quote(p.Secret.Reveal()) + ")"
}

func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// The parts of a backup.
const (
	checkpoints = "checkpoints"
	tables      = "tables"
)

// Checkpoint is how far OBSERVATIONS was applied: in every partition at least
// this far.
type Checkpoint struct {
	Epoch uint32 `json:"epoch"`
	Seq   uint64 `json:"seq"`
}

// Result describes what was saved.
type Result struct {
	Files, Bytes uint64     // of the tables; bytes as saved
	Checkpoint   Checkpoint // of the tables when the backup began
}

// Take saves the database while everything is running. It returns ErrExists for
// a location that already holds a backup.
func Take(ctx context.Context, conn clickhouse.Conn, database string, to Location) (Result, error) {
	if err := to.Validate(); err != nil {
		return Result{}, err
	}
	mark, err := readCheckpoint(ctx, conn, database)
	if err != nil {
		return Result{}, fmt.Errorf("read the checkpoints: %w", err)
	}
	if _, err := run(ctx, conn, "BACKUP TABLE "+clickhouse.Name(database)+".checkpoints TO "+to.of(checkpoints)); err != nil {
		return Result{}, fmt.Errorf("save the checkpoints: %w", to.inWords(err))
	}
	id, err := run(ctx, conn, "BACKUP DATABASE "+clickhouse.Name(database)+" EXCEPT TABLES "+clickhouse.Name(database)+".checkpoints TO "+to.of(tables))
	if err != nil {
		return Result{}, fmt.Errorf("save the tables: %w", to.inWords(err))
	}
	r := Result{Checkpoint: mark}
	err = conn.Do(ctx, clickhouse.Scan(ch.Query{
		Body:       "SELECT num_files AS files, compressed_size AS bytes FROM system.backups WHERE id = {id:String}",
		Parameters: ch.Parameters(map[string]any{"id": id}),
	}, clickhouse.Row{"files": &r.Files, "bytes": &r.Bytes}, nil))
	return r, err
}

// ErrInUse means that the database holds tables, and replacing them was not
// requested.
var ErrInUse = errors.New("the database holds tables already")

// RestoreRequest says what to restore.
type RestoreRequest struct {
	Database string
	From     Location
	Replace  bool // what the database holds now is dropped
	// Usable reports whether the caller can use the tables, which are in another
	// database until then. On an error nothing is dropped or put in place. nil: it can.
	Usable func(ctx context.Context, database string) error
}

// Restore brings the database back, completely or not at all: it is created
// as <database>.being_restored first. Without a complete backup the error is ErrNone or
// ErrDamaged. conn must be an administrator's, on another database. No projector
// should run: one that does is deposed, because it would go on behind what the
// restored tables lack.
func Restore(ctx context.Context, conn clickhouse.Conn, r RestoreRequest) error {
	database, from := r.Database, r.From
	if err := from.Validate(); err != nil {
		return err
	}
	n, err := clickhouse.Number(ctx, conn, "SELECT count() AS n FROM system.tables WHERE database = {database:String}", map[string]any{"database": database})
	if err != nil {
		return err
	}
	if n > 0 && !r.Replace {
		return fmt.Errorf("%w: %s, %d tables", ErrInUse, database, n)
	}
	scratch := database + ".being_restored" // never the name of an operator's own: it is dropped
	cleanUp := step{"clean up", "DROP DATABASE IF EXISTS " + clickhouse.Name(scratch) + " SYNC"}
	if err := from.do(ctx, conn,
		cleanUp,
		step{"restore the tables", "RESTORE DATABASE " + clickhouse.Name(database) + " AS " + clickhouse.Name(scratch) + " FROM " + from.of(tables)},
		step{"restore the checkpoints", "RESTORE TABLE " + clickhouse.Name(database) + ".checkpoints AS " + clickhouse.Name(scratch) + ".checkpoints FROM " + from.of(checkpoints)},
		step{"forget which scopes are applied", "TRUNCATE TABLE " + clickhouse.Name(scratch) + ".scopes_applied"},
		step{"forget the fences", "TRUNCATE TABLE " + clickhouse.Name(scratch) + ".leader_fences"},
		step{"begin a generation of rows", "INSERT INTO " + clickhouse.Name(scratch) + ".checkpoints (* EXCEPT (written_at)) SELECT * EXCEPT (written_at) REPLACE ('GENERATION' AS stream, toUInt32(0) AS epoch, toUInt64(toUnixTimestamp64Nano(now64(9))) AS seq) FROM " +
			clickhouse.Name(scratch) + ".checkpoints FINAL WHERE stream = 'OBSERVATIONS'"},
	); err != nil {
		return err
	}
	if r.Usable != nil {
		if err := r.Usable(ctx, scratch); err != nil {
			return errors.Join(err, from.do(ctx, conn, cleanUp))
		}
	}
	fenced, err := clickhouse.Number(ctx, conn, "SELECT count() AS n FROM system.tables WHERE database = {database:String} AND name = 'leader_fences'", map[string]any{"database": database})
	if err != nil {
		return err
	}
	if fenced > 0 {
		// Tables of another partition keep their own leader only.
		if err := from.do(ctx, conn, step{"depose the leader of what was there", "INSERT INTO " + clickhouse.Name(scratch) + ".leader_fences (partition, fence) SELECT partition, max(fence) + 1 FROM " +
			clickhouse.Name(database) + ".leader_fences WHERE partition IN (SELECT partition FROM " + clickhouse.Name(scratch) + ".checkpoints) GROUP BY partition"}); err != nil {
			return err
		}
	}
	return from.do(ctx, conn,
		step{"drop what was there", "DROP DATABASE IF EXISTS " + clickhouse.Name(database) + " SYNC"},
		step{"put it in place", "RENAME DATABASE " + clickhouse.Name(scratch) + " TO " + clickhouse.Name(database)},
	)
}

// step is a statement of a restore.
type step struct{ what, sql string }

// do runs steps of a restore from the location, up to the first that fails.
func (p Location) do(ctx context.Context, conn clickhouse.Conn, steps ...step) error {
	for _, s := range steps {
		if _, err := run(ctx, conn, s.sql); err != nil {
			return fmt.Errorf("%s: %w", s.what, p.inWords(err))
		}
	}
	return nil
}

// run runs a statement and returns the id of the backup or restore that it
// started.
func run(ctx context.Context, conn clickhouse.Conn, sql string) (id string, err error) {
	var out proto.Results
	err = conn.Do(ctx, ch.Query{Body: sql, Result: out.Auto(), OnResult: func(context.Context, proto.Block) error {
		for _, c := range out {
			if text, ok := c.Data.(*proto.ColStr); ok && c.Name == "id" && text.Rows() > 0 {
				id = text.Row(0)
			}
		}
		return nil
	}})
	return id, err
}

// readCheckpoint reads how far the tables have come.
func readCheckpoint(ctx context.Context, conn clickhouse.Conn, database string) (c Checkpoint, err error) {
	err = conn.Do(ctx, clickhouse.Scan(ch.Query{
		Body: "SELECT epoch, seq FROM " + clickhouse.Name(database) + ".checkpoints FINAL WHERE stream = 'OBSERVATIONS' ORDER BY epoch, seq LIMIT 1",
	}, clickhouse.Row{"epoch": &c.Epoch, "seq": &c.Seq}, nil))
	return c, err
}

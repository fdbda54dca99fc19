package projector_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/projector/backup"
	"preismon/projector/clickhouse"
)

// betweenConn calls between once, before the first statement that starts
// with begins.
type betweenConn struct {
	clickhouse.Conn
	begins  string
	between func()
}

func (c *betweenConn) Do(ctx context.Context, q ch.Query) error {
	if c.between != nil && strings.HasPrefix(q.Body, c.begins) {
		c.between()
		c.between = nil
	}
	return c.Conn.Do(ctx, q)
}

// TestBackup: restored tables are right to the row, though the projector wrote
// and scopes changed between the parts of the backup.
func TestBackup(t *testing.T) {
	w := newWorld(t)
	t.Run("folder", func(t *testing.T) { testBackup(t, backup.Location{Name: w.server.Database}) })
	if w.server.PID != 0 {
		return // the library cannot do S3 ("BackupsIOThreadPool is not initialized"); see archive.Upload
	}
	s3 := testserver.S3(t)
	client := must.Get(minio.New(s3.Endpoint, &minio.Options{Creds: credentials.NewStaticV4(s3.AccessKey, s3.SecretKey, "")}))(t)
	must.Do(t, client.MakeBucket(t.Context(), s3.Bucket, minio.MakeBucketOptions{}))
	t.Run("S3", func(t *testing.T) {
		testBackup(t, backup.Location{URL: "http://" + s3.Endpoint + "/" + s3.Bucket + "/nightly", Key: s3.AccessKey, Secret: contracts.Secret(s3.SecretKey)})
	})
}

func testBackup(t *testing.T, place backup.Location) {
	w := newWorld(t)
	admin := func(database string) *clickhouse.Pool {
		pool, _ := w.admin(database, "")
		return pool
	}
	w.restart() // so that the fence is not the first
	w.apply(w.catalog(mandate(1, 100), order(1, 10, true, 0, []int{1, 2, 3}, []int{0, 1}), mandate(2, 100), order(2, 20, true, 0, []int{1, 2, 3, 4}, []int{0, 1, 2})))
	w.apply(w.observations(30))
	w.settle()
	saved := w.seq
	// Between the checkpoints and the tables: new rows, a grant with its
	// backfill, and revoked pairs.
	later := []*event.Batch{}
	conn := &betweenConn{Conn: admin(""), begins: "BACKUP DATABASE", between: func() {
		for _, b := range []*event.Batch{
			w.catalog(order(1, 11, true, 1, []int{4, 5}, []int{0, 1, 2}), order(2, 20, true, 0, []int{1}, []int{0})),
			w.observations(20),
		} {
			later = append(later, b)
			w.apply(b)
		}
	}}
	began := time.Now().Truncate(time.Second)
	if newest, err := backup.Newest(t.Context(), admin("")); err != nil || !newest.Before(began) { // of another test on a shared server
		t.Errorf("before: %v %v", newest, err)
	}
	r, err := backup.Take(t.Context(), conn, w.server.Database, place)
	if newest, err := backup.Newest(t.Context(), admin("")); err != nil || newest.Before(began) {
		t.Errorf("after: %v %v", newest, err)
	}
	if err != nil || r.Files == 0 || r.Bytes == 0 || len(later) != 2 {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := backup.Take(t.Context(), admin(""), w.server.Database, place); err == nil {
		t.Error("a second backup took the place of the first")
	}
	w.verify()

	// Damage, and what the next days bring.
	w.apply(w.catalog(order(2, 21, true, 2, []int{6}, []int{0, 1, 2})))
	after := w.observations(10)
	w.apply(after)
	w.exec("TRUNCATE TABLE observations")
	other := admin("default")
	elsewhere := w.server.Database + "_elsewhere"
	for _, name := range []string{w.server.Database, elsewhere} { // restored by hand, to look at it
		name += "_restored"
		t.Cleanup(func() { w.exec("DROP DATABASE IF EXISTS " + name + " SYNC") })
		w.exec("CREATE DATABASE " + name)
		w.exec("CREATE TABLE " + name + ".kept (n UInt8) ENGINE = Memory")
	}
	if err := backup.Restore(t.Context(), other, backup.RestoreRequest{Database: elsewhere, From: backup.Location{Name: "no-such-backup"}}); !errors.Is(err, backup.ErrNone) {
		t.Errorf("from nothing into another database: %v", err)
	}
	if err := backup.Restore(t.Context(), other, backup.RestoreRequest{Database: elsewhere, From: place}); !errors.Is(err, backup.ErrOther) || !strings.Contains(err.Error(), elsewhere) {
		t.Errorf("into another database: %v", err)
	}
	if err := backup.Restore(t.Context(), other, backup.RestoreRequest{Database: w.server.Database, From: place}); !errors.Is(err, backup.ErrInUse) {
		t.Errorf("over tables that are there: %v", err)
	}
	if err := backup.Restore(t.Context(), other, backup.RestoreRequest{Database: w.server.Database, From: backup.Location{Name: "no-such-backup"}, Replace: true}); err == nil {
		t.Error("restored from nothing")
	}
	equals.Is(t, 60, count(w, "SELECT count() FROM ingested_events"), "a restore that failed left events")
	must.Do(t, backup.Restore(t.Context(), other, backup.RestoreRequest{Database: w.server.Database, From: place, Replace: true}))
	equals.Is(t, 2, count(w, "SELECT count() FROM system.tables WHERE startsWith(database, currentDatabase()) AND name = 'kept'"), "tables are left of the two that were restored by hand")
	equals.Is(t, 0, count(w, "SELECT count() FROM system.databases WHERE startsWith(name, concat(currentDatabase(), '.'))"), "databases are left of the restores")
	equals.Is(t, 0, count(w, "SELECT count() FROM scopes_applied"), "scopes count as applied before anybody looked")

	// The projector was not stopped: it does not go on behind what is gone now.
	next := w.observations(5)
	if err := w.try(t.Context(), next); !errors.Is(err, event.ErrDeposed) {
		t.Errorf("the leader of the tables before: %v, want ErrDeposed", err)
	}

	// The next one resumes at the checkpoint.
	w.restart()
	if seq, err := w.p.Resume(t.Context(), event.StreamObservations, made(epoch)); err != nil || seq != saved {
		t.Errorf("it resumes at %d, want %d: %v", seq, saved, err)
	}
	for _, b := range later {
		w.apply(b)
	}
	w.apply(&event.Batch{Stream: event.StreamCatalog, Epoch: epoch, First: w.catalogSeq, Last: w.catalogSeq, Messages: []event.Message{{
		Seq: w.catalogSeq, Event: &event.Event{ID: newID(w.rnd), Kind: event.KindOrder, ProducedAt: start, Data: order(2, 21, true, 2, []int{6}, []int{0, 1, 2})},
	}}})
	w.apply(after)
	w.apply(next)
	w.verify()
	if s := w.p.Stats(); s.Repairs == 0 {
		t.Error("nothing was read back")
	}
}

func count(w *world, q string) (n uint64) {
	w.t.Helper()
	w.scan(q, nil, &n)
	return n
}

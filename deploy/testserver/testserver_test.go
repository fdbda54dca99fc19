package testserver_test

import (
	"database/sql"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver"
)

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("clickhouse", dsn)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestClickHouse(t *testing.T) {
	one, two := testserver.ClickHouse(t), testserver.ClickHouse(t)
	if one.Database == two.Database {
		t.Fatal("the same database twice")
	}
	if _, err := open(t, one.AdminDSN).ExecContext(t.Context(), "CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, one.ProjectorDSN).ExecContext(t.Context(), "INSERT INTO t SELECT 7"); err != nil {
		t.Fatal(err)
	}
	query := open(t, one.QueryDSN)
	var n uint64
	if err := query.QueryRowContext(t.Context(), "SELECT n FROM t SETTINGS max_execution_time = 3").Scan(&n); err != nil || n != 7 {
		t.Errorf("the query user reads %d, %v", n, err)
	}
	if _, err := query.ExecContext(t.Context(), "INSERT INTO t SELECT 8"); err == nil {
		t.Error("the query user writes")
	}
	if err := open(t, two.QueryDSN).QueryRowContext(t.Context(), "SELECT n FROM t").Scan(&n); err == nil {
		t.Error("a fresh database has the table of another")
	}
}

func TestClickHouseIsDropped(t *testing.T) {
	var name string
	t.Run("uses", func(t *testing.T) { name = testserver.ClickHouse(t).Database })
	var n uint64
	if err := open(t, testserver.ClickHouse(t).AdminDSN).QueryRowContext(t.Context(), "SELECT count() FROM system.databases WHERE name = ?", name).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d databases %s, %v", n, name, err)
	}
}

func TestClickHouseHTTP(t *testing.T) {
	resp, err := http.Post(testserver.ClickHouse(t).HTTPAs(t, embedded.QueryUser), "", strings.NewReader("SELECT 1 AS one FORMAT JSONEachRow"))
	must(t, err)
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "{\"one\":1}\n" {
		t.Errorf("%q, %v", body, err)
	}
}

func TestNATS(t *testing.T) {
	for range 2 { // the second server shares nothing with the first
		t.Run("fresh", func(t *testing.T) {
			nc, err := nats.Connect(testserver.NATS(t))
			must(t, err)
			defer nc.Close()
			js, err := jetstream.New(nc)
			must(t, err)
			if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
				t.Fatal(err)
			}
			if ack, err := js.Publish(t.Context(), "s", []byte("hello")); err != nil || ack.Sequence != 1 {
				t.Errorf("%+v, %v", ack, err)
			}
		})
	}
}

func TestS3(t *testing.T) {
	s := testserver.S3(t)
	c, err := minio.New(s.Endpoint, &minio.Options{Creds: credentials.NewStaticV4(s.AccessKey, s.SecretKey, "")})
	must(t, err)
	must(t, c.MakeBucket(t.Context(), s.Bucket, minio.MakeBucketOptions{}))
	if _, err := c.PutObject(t.Context(), s.Bucket, "a/b", strings.NewReader("hello"), 5, minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if other := testserver.S3(t); other.Bucket == s.Bucket || other.Endpoint != s.Endpoint {
		t.Errorf("second call: %+v", other)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

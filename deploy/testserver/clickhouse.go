package testserver

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	_ "github.com/ClickHouse/clickhouse-go/v2" // the driver to make databases with
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"preismon/deploy/embedded"
)

const clickHouseImage = "clickhouse/clickhouse-server:26.7"

// databasePrefix begins the name of every database of a test.
const databasePrefix = "preismon_test_"

// ClickHouseServer is a fresh, empty database on a real server, as its three users see it.
type ClickHouseServer struct {
	Database     string
	AdminDSN     string // native, may do everything
	ProjectorDSN string // native, reads and writes the database
	QueryDSN     string // native, reads the database, readonly=2
	HTTPURL      string // HTTP interface without credentials; empty when the server was named by its DSN
	PID          int    // of the embedded server, else 0
	server       *clickHouse
}

// clickHouse is the one server of this test process.
type clickHouse struct {
	admin    *sql.DB
	adminDSN string               // of the database default or preismon
	embedded *embedded.ClickHouse // nil for others
	httpURL  string
}

var clickHouseOnce = sync.OnceValues(startClickHouse)

func startClickHouse() (*clickHouse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	s := &clickHouse{adminDSN: os.Getenv(ClickHouseVariable)}
	if s.adminDSN == "" && docker(clickHouseImage) {
		password := rand.Text()
		_, address, err := container(ctx, clickHouseImage,
			testcontainers.WithExposedPorts("9000/tcp"),
			testcontainers.WithEnv(map[string]string{
				"CLICKHOUSE_USER": embedded.AdminUser, "CLICKHOUSE_PASSWORD": password, "CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT": "1",
			}),
			testcontainers.WithWaitStrategyAndDeadline(startLimit, wait.ForListeningPort("9000/tcp")))
		if err != nil {
			return nil, err
		}
		s.adminDSN = (&url.URL{Scheme: "clickhouse", User: url.UserPassword(embedded.AdminUser, password), Host: address, Path: "/default"}).String()
	}
	if s.adminDSN == "" {
		dir, err := base()
		if err != nil {
			return nil, err
		}
		s.embedded, err = embedded.StartClickHouse(ctx, embedded.ClickHouseConfig{
			Dir: filepath.Join(dir, "clickhouse"), GrantAlso: databasePrefix + "*", NoProgram: true, Remove: dir,
			Grace: serverGrace, Logger: logger(),
		})
		if err != nil {
			return nil, err
		}
		s.adminDSN, s.httpURL = s.embedded.DSN(embedded.AdminUser, ""), s.embedded.HTTPURL()
	}
	var err error
	if s.admin, err = sql.Open("clickhouse", s.adminDSN); err != nil {
		return nil, err
	}
	s.admin.SetMaxIdleConns(1)
	return s, s.admin.PingContext(ctx)
}

// ClickHouse gives a fresh database, dropped at the end of the test. The process
// has one server; its start takes a fifth of a second when the library is cached.
func ClickHouse(tb testing.TB) *ClickHouseServer {
	tb.Helper()
	s, err := clickHouseOnce()
	if err != nil {
		tb.Fatalf("this test needs ClickHouse: %v; or name a server in %s", err, ClickHouseVariable)
	}
	name := unique(databasePrefix)
	c := &ClickHouseServer{Database: name, server: s, HTTPURL: s.httpURL}
	exec := func(ctx context.Context, statements ...string) error {
		for _, q := range statements {
			if _, err := s.admin.ExecContext(ctx, q); err != nil {
				return fmt.Errorf("%s: %w", q, err)
			}
		}
		return nil
	}
	if err := exec(tb.Context(), "CREATE DATABASE "+name); err != nil {
		tb.Fatalf("make a database for the test: %v", err)
	}
	cleanup(tb, "drop the database of the test", func(ctx context.Context) error {
		return exec(ctx, "DROP DATABASE IF EXISTS "+name+" SYNC")
	})
	if s.embedded != nil {
		c.AdminDSN = s.embedded.DSN(embedded.AdminUser, name)
		c.ProjectorDSN = s.embedded.DSN(embedded.ProjectorUser, name)
		c.QueryDSN = s.embedded.DSN(embedded.QueryUser, name)
		c.PID = s.embedded.PID()
		return c
	}
	// Elsewhere users are made by SQL, with the rights of the embedded ones.
	projector, query, password := name+"_projector", name+"_query", rand.Text()
	common := "use_query_condition_cache = 0, async_insert = 0, timeout_overflow_mode = 'throw', read_overflow_mode = 'throw', result_overflow_mode = 'throw'"
	if err := exec(tb.Context(),
		"CREATE USER "+projector+" IDENTIFIED WITH sha256_password BY '"+password+"' SETTINGS "+common,
		"GRANT SELECT, INSERT, ALTER UPDATE, ALTER DELETE, OPTIMIZE, TRUNCATE ON "+name+".* TO "+projector,
		"GRANT CREATE TEMPORARY TABLE ON *.* TO "+projector,
		"GRANT SELECT ON system.processes TO "+projector,
		"GRANT SELECT ON system.parts TO "+projector,
		"GRANT SELECT ON system.mutations TO "+projector,
		"GRANT SELECT ON system.merges TO "+projector,
		"CREATE USER "+query+" IDENTIFIED WITH sha256_password BY '"+password+"' SETTINGS "+common+", readonly = 2",
		"GRANT SELECT ON "+name+".* TO "+query,
	); err != nil {
		tb.Fatalf("make the users of the test; the user of %s needs access management: %v", ClickHouseVariable, err)
	}
	cleanup(tb, "drop the users of the test", func(ctx context.Context) error {
		return exec(ctx, "DROP USER IF EXISTS "+projector+", "+query)
	})
	dsn := func(user *url.Userinfo) string {
		u, err := url.Parse(s.adminDSN)
		if err != nil {
			tb.Fatalf("%s is no address: %v", ClickHouseVariable, err)
		}
		if user != nil {
			u.User = user
		}
		u.Path = "/" + name
		return u.String()
	}
	c.AdminDSN = dsn(nil)
	c.ProjectorDSN = dsn(url.UserPassword(projector, password))
	c.QueryDSN = dsn(url.UserPassword(query, password))
	return c
}

// HTTPAs is the HTTP interface with one of the embedded users' credentials, for
// comparisons with ClickHouse's own formats. It fails for servers named by DSN.
func (c *ClickHouseServer) HTTPAs(tb testing.TB, user string) string {
	tb.Helper()
	if c.server.embedded == nil {
		tb.Fatal("the HTTP interface of a ClickHouse named by its DSN is not known; run this test on the embedded one")
	}
	u, err := url.Parse(c.HTTPURL)
	if err != nil {
		tb.Fatal(err)
	}
	u.User = url.UserPassword(user, c.server.embedded.Password(user))
	u.RawQuery = url.Values{"database": {c.Database}}.Encode()
	return u.String()
}

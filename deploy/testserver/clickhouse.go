package testserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	_ "github.com/ClickHouse/clickhouse-go/v2" // the driver used to create databases
	dockercontainer "github.com/moby/moby/api/types/container"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"preismon/deploy/embedded"
)

// databasePrefix begins the name of every test database.
const databasePrefix = "preismon_test_"

// ClickHouseServer is a new, empty database on a real server, as its three users see it.
type ClickHouseServer struct {
	Database     string
	AdminDSN     string // native, may do everything
	ProjectorDSN string // native, reads and writes the database
	QueryDSN     string // native, reads the database, readonly=2
	HTTPURL      string // HTTP interface without credentials; empty if the server was named by its DSN
	PID          int    // of an embedded server, otherwise 0
	server       *clickHouse
}

// clickHouse is the only server of this test process.
type clickHouse struct {
	admin    *sql.DB
	adminDSN string // of the database default or preismon

	// What is unknown for a server named by its DSN.
	dsnAs    func(user, database string) string // nil for such a server
	password func(user string) string
	httpURL  string
	pid      int
}

var clickHouseOnce = sync.OnceValues(startClickHouse)

func startClickHouse() (*clickHouse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	s := &clickHouse{adminDSN: os.Getenv(ClickHouseVariable)}
	if s.adminDSN == "" {
		img, err := image("clickhouse")
		if err != nil {
			return nil, err
		}
		if img != "" {
			err = s.startContainer(ctx, img)
		} else {
			err = s.startEmbedded(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	var err error
	if s.admin, err = sql.Open("clickhouse", s.adminDSN); err != nil {
		return nil, err
	}
	s.admin.SetMaxIdleConns(1)
	return s, s.admin.PingContext(ctx)
}

func (s *clickHouse) startEmbedded(ctx context.Context) error {
	dir, err := base()
	if err != nil {
		return err
	}
	e, err := embedded.StartClickHouse(ctx, embedded.ClickHouseConfig{
		Dir: filepath.Join(dir, "clickhouse"), GrantAlso: databasePrefix + "*", NoProgram: true, Remove: dir,
		Grace: serverGrace, Logger: logger(),
	})
	if err != nil {
		return err
	}
	s.dsnAs, s.password, s.pid = e.DSN, e.Password, e.PID()
	s.adminDSN, s.httpURL = e.DSN(embedded.AdminUser, ""), e.HTTPURL()
	return nil
}

// startContainer starts a server with the files, and so the users, of an
// embedded one.
func (s *clickHouse) startContainer(ctx context.Context, image string) error {
	config, users, err := embedded.ContainerFiles(databasePrefix + "*")
	if err != nil {
		return err
	}
	passwords := map[string]string{embedded.AdminUser: rand.Text(), embedded.ProjectorUser: rand.Text(), embedded.QueryUser: rand.Text()}
	var files []testcontainers.ContainerFile
	for path, content := range map[string][]byte{
		embedded.ContainerConfig: config, embedded.ContainerUsers: users, embedded.ContainerHashes: embedded.PasswordHashes(passwords),
	} {
		files = append(files, testcontainers.ContainerFile{Reader: bytes.NewReader(content), ContainerFilePath: path, FileMode: 0o444})
	}
	const web = "8123/tcp"
	c, address, err := container(ctx, image, "9000/tcp",
		testcontainers.WithExposedPorts(web), testcontainers.WithFiles(files...), testcontainers.WithTmpfs(map[string]string{"/tmp": "mode=1777"}),
		testcontainers.WithEntrypoint("/usr/bin/clickhouse", "server", "--config-file="+embedded.ContainerConfig), testcontainers.WithCmd(),
		testcontainers.WithConfigModifier(func(c *dockercontainer.Config) { c.User = "101:101" }),
		testcontainers.WithWaitStrategyAndDeadline(startLimit, wait.ForHTTP("/ping").WithPort(web)))
	if err != nil {
		return err
	}
	s.password = func(user string) string { return passwords[user] }
	s.dsnAs = func(user, database string) string {
		if database == "" {
			database = "default" // no other one exists yet
		}
		return (&url.URL{Scheme: "clickhouse", User: url.UserPassword(user, passwords[user]), Host: address, Path: "/" + database}).String()
	}
	s.adminDSN = s.dsnAs(embedded.AdminUser, "")
	s.httpURL, err = c.PortEndpoint(ctx, web, "http")
	s.httpURL += "/"
	return err
}

// ClickHouse returns a new database, dropped at the end of the test. The process
// has one server; its start takes a fifth of a second when the library is
// cached.
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
	if s.dsnAs != nil {
		c.AdminDSN, c.ProjectorDSN, c.QueryDSN = s.dsnAs(embedded.AdminUser, name), s.dsnAs(embedded.ProjectorUser, name), s.dsnAs(embedded.QueryUser, name)
		c.PID = s.pid
		return c
	}
	// On other servers users are created by SQL, with the rights of the embedded ones.
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
		"GRANT SELECT ON system.disks TO "+projector,
		"GRANT SELECT ON system.asynchronous_metrics TO "+projector,
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

// HTTPAs returns the HTTP interface with the credentials of one of the three
// users, for comparisons with ClickHouse's own formats. It fails for servers
// named by DSN.
func (c *ClickHouseServer) HTTPAs(tb testing.TB, user string) string {
	tb.Helper()
	if c.server.password == nil {
		tb.Fatal("the HTTP interface of a ClickHouse named by its DSN is not known; run this test on another one")
	}
	u, err := url.Parse(c.HTTPURL)
	if err != nil {
		tb.Fatal(err)
	}
	u.User = url.UserPassword(user, c.server.password(user))
	u.RawQuery = url.Values{"database": {c.Database}}.Encode()
	return u.String()
}

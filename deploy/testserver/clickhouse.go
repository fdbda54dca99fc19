package testserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	_ "github.com/ClickHouse/clickhouse-go/v2" // the driver used to create databases
	dockercontainer "github.com/moby/moby/api/types/container"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/effort"
)

// databasePrefix begins the name of every test database.
const databasePrefix = "preismon_test_"

// ClickHouseServer is a new, empty database on a real server, as its three users see it.
type ClickHouseServer struct {
	Database     string
	AdminDSN     string // native, may do everything
	ProjectorDSN string // native, reads and writes the database
	QueryDSN     string // native, reads the database, readonly=2
	HTTPURL      string // HTTP interface without credentials
	PID          int    // of an embedded server, otherwise 0
	server       *clickHouse
}

// clickHouse is the only server of this test process.
type clickHouse struct {
	admin    *sql.DB
	dsnAs    func(user, database string) string // without a database: of default or preismon
	password func(user string) string
	httpURL  string
	pid      int // 0: in a container
}

var clickHouseOnce = sync.OnceValues(startClickHouse)

func startClickHouse() (*clickHouse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	img, err := image("clickhouse")
	if err != nil {
		return nil, err
	}
	s := &clickHouse{}
	if img != "" {
		err = s.startContainer(ctx, img)
	} else {
		err = s.startEmbedded(ctx)
	}
	if err != nil {
		return nil, err
	}
	if s.admin, err = sql.Open("clickhouse", s.dsnAs(embedded.AdminUser, "")); err != nil {
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
	settings := map[string]string{}
	if !effort.All() { // tables of tests are small: threads and compiled expressions take longer to make than they save
		settings["max_threads"], settings["compile_expressions"] = "1", "0"
	}
	e, err := embedded.StartClickHouse(ctx, embedded.ClickHouseConfig{
		Dir: filepath.Join(dir, "clickhouse"), GrantAlso: databasePrefix + "*", NoProgram: true, Remove: dir,
		Grace: serverGrace, Logger: logger(), Settings: settings,
	})
	if err != nil {
		return err
	}
	s.dsnAs, s.password, s.httpURL, s.pid = e.DSN, e.Password, e.HTTPURL(), e.PID()
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
		tb.Fatalf("this test needs ClickHouse: %v", err)
	}
	name := unique(databasePrefix)
	if _, err := s.admin.ExecContext(tb.Context(), "CREATE DATABASE "+name); err != nil {
		tb.Fatalf("make a database for the test: %v", err)
	}
	cleanup(tb, "drop the database of the test", func(ctx context.Context) error {
		_, err := s.admin.ExecContext(ctx, "DROP DATABASE IF EXISTS "+name+" SYNC")
		return err
	})
	return &ClickHouseServer{
		Database: name, HTTPURL: s.httpURL, PID: s.pid, server: s,
		AdminDSN: s.dsnAs(embedded.AdminUser, name), ProjectorDSN: s.dsnAs(embedded.ProjectorUser, name), QueryDSN: s.dsnAs(embedded.QueryUser, name),
	}
}

// HTTPAs returns the HTTP interface with the credentials of one of the three
// users, for comparisons with ClickHouse's own formats.
func (c *ClickHouseServer) HTTPAs(tb testing.TB, user string) string {
	tb.Helper()
	u, err := url.Parse(c.HTTPURL)
	if err != nil {
		tb.Fatal(err)
	}
	u.User = url.UserPassword(user, c.server.password(user))
	u.RawQuery = url.Values{"database": {c.Database}}.Encode()
	return u.String()
}

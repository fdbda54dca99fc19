package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/deploy/embedded"
	"preismon/ingest"
	"preismon/ingest/seqlock"
	"preismon/projector/schema"
	"preismon/query/auth"
)

// extraPrefix begins the names of all databases besides the main one.
const extraPrefix = "preismon_bench_"

// world holds the servers and the roles that are measured.
type world struct {
	cfg      Config
	temp     string // removed at the end
	dir      *embedded.DataDir
	ch       *embedded.ClickHouse
	nats     *embedded.NATS
	database string // the main one
	natsURL  string
	http     *http.Client
	tokens   *auth.Authority
	issuing  sync.Mutex
	issued   map[uint64]kept // tokens by account
	keyFile  string
	cursors  string
	nodes    map[string]*node // query services by database
	extra    []string         // databases to drop
}

func startWorld(ctx context.Context, c Config) (_ *world, err error) {
	w := &world{
		cfg: c, nodes: map[string]*node{}, issued: map[uint64]kept{}, cursors: rand.Text() + rand.Text(),
		http: &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 128, WriteBufferSize: 256 << 10, ReadBufferSize: 256 << 10}},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if c.DataDir == "" {
		if w.temp, err = os.MkdirTemp("", "preismon-bench-"); err != nil {
			return w, err
		}
	}
	folder := c.DataDir
	if folder == "" {
		folder = filepath.Join(w.temp, "data")
	}
	if c.ClickHouse != "" {
		w.database, w.natsURL = strings.TrimSuffix(extraPrefix, "_"), c.NATS.Reveal()
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return w, err
		}
	} else {
		if err := w.embed(ctx, folder); err != nil {
			return w, err
		}
	}
	if err := schema.Migrate(ctx, w.dsn(embedded.AdminUser, w.database), schema.Options{}); err != nil {
		return w, err
	}
	w.keyFile = filepath.Join(folder, "token-key.pem")
	return w, w.openTokens()
}

func (w *world) embed(ctx context.Context, folder string) (err error) {
	w.database = embedded.DefaultDatabase
	if w.dir, err = embedded.OpenDataDir(folder); err != nil {
		return err
	}
	if w.ch, err = embedded.StartClickHouse(ctx, embedded.ClickHouseConfig{
		Dir: w.dir.Join("clickhouse"), GrantAlso: extraPrefix + "*", Logger: w.cfg.Logger, Remove: w.temp,
	}); err != nil {
		return err
	}
	if w.nats, err = embedded.StartNATS(ctx, embedded.NATSConfig{Dir: w.dir.Join("nats"), Logger: w.cfg.Logger}); err != nil {
		return err
	}
	w.natsURL = w.nats.URL()
	return w.announce(ctx)
}

// announce notifies the query nodes of what an idle projector has notified them
// of: here the tables are filled by statements. On servers that others use, it
// does nothing.
func (w *world) announce(ctx context.Context) error {
	checkpoints, conn, err := w.announcer()
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := checkpoints.Begin(ctx); err != nil {
		return err
	}
	checkpoints.End(nil)
	return conn.Flush()
}

// announcer returns what announces writes to query nodes.
func (w *world) announcer() (*seqlock.Writer, *nats.Conn, error) {
	conn, err := ingest.Connect(ingest.Config{URL: w.natsURL, Name: "preismon bench", Logger: w.cfg.Logger})
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	if err == nil {
		var checkpoints *seqlock.Writer
		if checkpoints, err = seqlock.NewWriter(seqlock.Config{Partitions: 1}, js, 0, w.cfg.Logger); err == nil {
			return checkpoints, conn, nil
		}
	}
	conn.Close()
	return nil, nil, err
}

// scratchNATS starts a NATS server that lives for one measurement.
func (w *world) scratchNATS(ctx context.Context) (natsURL string, stop func(), err error) {
	dir, err := os.MkdirTemp(w.temp, "preismon-bench-nats-")
	if err != nil {
		return "", nil, err
	}
	n, err := embedded.StartNATS(ctx, embedded.NATSConfig{Dir: dir, Logger: w.cfg.Logger})
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return n.URL(), func() {
		_ = n.Stop(context.WithoutCancel(ctx))
		_ = os.RemoveAll(dir)
	}, nil
}

// openTokens prepares the tokens for the query services: they are signed with
// the same key.
func (w *world) openTokens() error {
	if err := auth.EnsureKey(w.keyFile); err != nil {
		return err
	}
	var err error
	w.tokens, err = auth.NewIssuer(nodeURL, w.keyFile)
	return err
}

// token returns the account's token, the same one for half of its lifetime: a
// client keeps its token, and a node verifies the signature of each one only
// once.
func (w *world) token(account uint64) (string, error) {
	w.issuing.Lock()
	defer w.issuing.Unlock()
	t, ok := w.issued[account]
	if !ok || !time.Now().Before(t.until) {
		issued, lifetime, err := w.tokens.IssueREST(contracts.AccountID(account))
		if err != nil {
			return "", err
		}
		t = kept{issued.Token.Reveal(), issued.Expires.Add(-lifetime / 2)}
		w.issued[account] = t
	}
	return t.token, nil
}

// kept is a token that is reused until then.
type kept struct {
	token string
	until time.Time
}

// close stops everything, and removes what should not be kept.
func (w *world) close() error {
	var errs []error
	for _, n := range w.nodes {
		n.stop()
	}
	w.nodes = map[string]*node{}
	if w.cfg.ClickHouse != "" {
		for _, db := range append(w.extra, w.database) {
			errs = append(errs, w.exec(context.Background(), "DROP DATABASE IF EXISTS "+db+" SYNC"))
		}
		w.extra, w.cfg.ClickHouse = nil, ""
	}
	errs = append(errs, w.stopServers())
	if w.temp != "" {
		errs = append(errs, os.RemoveAll(w.temp))
		w.temp = ""
	}
	return errors.Join(errs...)
}

func (w *world) stopServers() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	if w.nats != nil {
		errs = append(errs, w.nats.Stop(ctx))
		w.nats = nil
	}
	if w.ch != nil {
		errs = append(errs, w.ch.Stop(ctx))
		w.ch = nil
	}
	if w.dir != nil {
		errs = append(errs, w.dir.Close())
		w.dir = nil
	}
	return errors.Join(errs...)
}

// dsn returns the data source name of a user for a database.
func (w *world) dsn(user, database string) string {
	if w.ch != nil {
		return w.ch.DSN(user, database)
	}
	u, err := url.Parse(w.cfg.ClickHouse.Reveal())
	if err != nil {
		return ""
	}
	u.Path = "/" + database
	return u.String()
}

// httpAccess returns how the HTTP interface of ClickHouse is reached.
func (w *world) httpAccess(user string) (base, name, password string) {
	if w.ch != nil {
		return w.ch.HTTPURL(), user, w.ch.Password(user)
	}
	u, err := url.Parse(w.cfg.ClickHouse.Reveal())
	if err != nil {
		return "", "", ""
	}
	password, _ = u.User.Password()
	return w.cfg.ClickHouseHTTP, u.User.Username(), password
}

// ask sends a statement over HTTP and returns the answer's body.
func (w *world) ask(ctx context.Context, user, database, statement string, data io.Reader) (io.ReadCloser, error) {
	base, name, password := w.httpAccess(user)
	target := base + "?database=" + url.QueryEscape(database)
	var body io.Reader = strings.NewReader(statement)
	if data != nil {
		target += "&query=" + url.QueryEscape(statement)
		body = data
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-ClickHouse-User", name)
	req.Header.Set("X-ClickHouse-Key", password)
	resp, err := w.http.Do(req)
	if resp, err = accepted("clickhouse: ", resp, err); err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// exec runs a statement of the administrator in the main database.
func (w *world) exec(ctx context.Context, statement string) error {
	body, err := w.ask(ctx, embedded.AdminUser, w.database, statement, nil)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, clip(statement))
	}
	_, err = io.Copy(io.Discard, body)
	return errors.Join(err, body.Close())
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

// rows returns the rows of an answer, each an array of JSON values.
func (w *world) rows(ctx context.Context, database, statement string) (all [][]any, err error) {
	body, err := w.ask(ctx, embedded.AdminUser, database, statement+" FORMAT JSONCompactEachRow SETTINGS output_format_json_quote_64bit_integers=0", nil)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, clip(statement))
	}
	defer body.Close() //nolint:errcheck // read to its end
	for lines := json.NewDecoder(body); ; {
		var row []any
		if err := lines.Decode(&row); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, err
		}
		all = append(all, row)
	}
}

// number returns the one number of an answer.
func (w *world) number(ctx context.Context, database, statement string) (float64, error) {
	rows, err := w.rows(ctx, database, statement)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return 0, fmt.Errorf("not one number: %s", clip(statement))
	}
	n, _ := rows[0][0].(float64)
	return n, nil
}

// makeDatabase recreates a database with the schema and without rows.
func (w *world) makeDatabase(ctx context.Context, name string) error {
	if err := w.exec(ctx, "DROP DATABASE IF EXISTS "+name+" SYNC"); err != nil {
		return err
	}
	w.extra = append(w.extra, name)
	return schema.Migrate(ctx, w.dsn(embedded.AdminUser, name), schema.Options{})
}

// settle waits until background merges are done.
func (w *world) settle(ctx context.Context) error {
	for quiet := 0; quiet < 3; {
		n, err := w.number(ctx, w.database, "SELECT count() FROM system.merges WHERE database LIKE '"+strings.TrimSuffix(extraPrefix, "_bench_")+"%'")
		if err != nil {
			return err
		}
		if quiet++; n > 0 {
			quiet = 0
		}
		if err := pause(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

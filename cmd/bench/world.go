package main

import (
	"cmp"
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

	"preismon/contracts"
	"preismon/deploy/embedded"
	"preismon/projector/schema"
	"preismon/query/auth"
)

// extraPrefix begins the names of all databases besides the main one.
const extraPrefix = "preismon_bench_"

// world holds the servers and the roles that are measured.
type world struct {
	cfg      Config
	given    *url.URL // the ClickHouse that was given; nil: an embedded one
	temp     string   // folder that is removed at the end
	dir      *embedded.DataDir
	ch       *embedded.ClickHouse
	nats     *embedded.NATS
	database string // the main one
	natsURL  string
	http     *http.Client
	tokens   *auth.Authority
	issuing  sync.Mutex
	issued   map[uint64]string // by account
	keyFile  string
	cursors  string
	nodes    map[string]*node // query services by database
	extra    []string         // databases to drop
}

func startWorld(ctx context.Context, c Config) (_ *world, err error) {
	w := &world{
		cfg: c, nodes: map[string]*node{}, issued: map[uint64]string{}, cursors: rand.Text() + rand.Text(),
		http: &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 128, WriteBufferSize: 256 << 10, ReadBufferSize: 256 << 10}},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.temp, err = os.MkdirTemp("", "preismon-bench-"); err != nil {
		return w, err
	}
	folder := cmp.Or(c.DataDir, filepath.Join(w.temp, "data"))
	if c.ClickHouse != "" {
		if w.given, err = url.Parse(c.ClickHouse.Reveal()); err != nil {
			return w, errors.New("clickhouse-dsn: no URL") // the error would show the password
		}
		w.database, w.natsURL = strings.TrimSuffix(extraPrefix, "_"), c.NATS.Reveal()
		err = os.MkdirAll(folder, 0o700)
	} else {
		err = w.embed(ctx, folder)
	}
	if err != nil {
		return w, err
	}
	if err := schema.Migrate(ctx, w.dsn(embedded.AdminUser, w.database), schema.Options{}); err != nil {
		return w, err
	}
	// The tokens for the query services are signed with the same key.
	w.keyFile = filepath.Join(folder, "token-key.pem")
	if err := auth.EnsureKey(w.keyFile); err != nil {
		return w, err
	}
	w.tokens, err = auth.NewIssuer(nodeURL, w.keyFile)
	return w, err
}

// embed starts the servers. What an idle projector has notified query nodes of is
// announced: here the tables are filled by statements.
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
	b, err := w.connect(w.natsURL)
	if err != nil {
		return err
	}
	defer b.conn.Close()
	readers, err := b.readers(w.cfg.Logger)
	if err != nil {
		return err
	}
	if err := announce(ctx, readers, nil, nil, func(context.Context) error { return nil }); err != nil {
		return err
	}
	return b.conn.Flush()
}

// token returns the account's token, the same one for the whole run: a client
// keeps its token, and a node verifies the signature of each one only once.
func (w *world) token(account uint64) (string, error) {
	w.issuing.Lock()
	defer w.issuing.Unlock()
	if w.issued[account] == "" {
		issued, err := w.tokens.Issue(auth.Grant{Account: contracts.AccountID(account), Audience: auth.RESTAudience, Lifetime: 24 * time.Hour})
		if err != nil {
			return "", err
		}
		w.issued[account] = issued.Token.Reveal()
	}
	return w.issued[account], nil
}

// close stops everything, and removes what should not be kept.
func (w *world) close() error {
	errs := []error{w.stop()}
	if w.given != nil {
		for _, db := range append(w.extra, w.database) {
			errs = append(errs, w.exec(context.Background(), "DROP DATABASE IF EXISTS "+db+" SYNC"))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(w.temp))...)
}

// stop stops the query services and the servers.
func (w *world) stop() error {
	for _, n := range w.nodes {
		_ = n.stop()
	}
	clear(w.nodes)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	if w.nats != nil {
		errs = append(errs, w.nats.Stop(ctx))
	}
	if w.ch != nil {
		errs = append(errs, w.ch.Stop(ctx))
	}
	if w.dir != nil {
		errs = append(errs, w.dir.Close())
	}
	w.nats, w.ch, w.dir = nil, nil, nil
	return errors.Join(errs...)
}

// dsn returns the data source name of a user for a database.
func (w *world) dsn(user, database string) string {
	if w.given == nil {
		return w.ch.DSN(user, database)
	}
	u := *w.given
	u.Path = "/" + database
	return u.String()
}

// httpAccess returns how the HTTP interface of ClickHouse is reached.
func (w *world) httpAccess(user string) (base, name, password string) {
	if w.given == nil {
		return w.ch.HTTPURL(), user, w.ch.Password(user)
	}
	password, _ = w.given.User.Password()
	return w.cfg.ClickHouseHTTP, w.given.User.Username(), password
}

// ask sends a statement over HTTP and returns the answer's body.
func (w *world) ask(ctx context.Context, user, database, statement string) (io.ReadCloser, error) {
	base, name, password := w.httpAccess(user)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"?database="+url.QueryEscape(database), strings.NewReader(statement))
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

// exec runs statements of the administrator in the main database, until one fails.
func (w *world) exec(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		body, err := w.ask(ctx, embedded.AdminUser, w.database, statement)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, clip(statement))
		}
		_, err = io.Copy(io.Discard, body)
		if err = errors.Join(err, body.Close()); err != nil {
			return err
		}
	}
	return nil
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

// rows returns the rows of an answer of the main database, each an array of JSON
// values.
func (w *world) rows(ctx context.Context, statement string) (all [][]any, err error) {
	body, err := w.ask(ctx, embedded.AdminUser, w.database, statement+" FORMAT JSONCompactEachRow SETTINGS output_format_json_quote_64bit_integers=0")
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

// copies returns the statements that copy rows of the main database.
func (w *world) copies(to, where string, tables ...string) (all []string) {
	for _, table := range tables {
		all = append(all, fmt.Sprintf("INSERT INTO %[1]s.%[2]s SELECT * FROM %[3]s.%[2]s WHERE %[4]s SETTINGS async_insert = 0", to, table, w.database, where))
	}
	return all
}

// exec and rows are those of the world.
func (r *run) exec(ctx context.Context, statements ...string) {
	if !r.failed(nil) {
		r.failed(r.world.exec(ctx, statements...))
	}
}

func (r *run) rows(ctx context.Context, statement string) [][]any {
	if r.failed(nil) {
		return nil
	}
	all, err := r.world.rows(ctx, statement)
	r.failed(err)
	return all
}

// number returns the one number of an answer.
func (r *run) number(ctx context.Context, statement string) (n float64) {
	rows := r.rows(ctx, statement)
	if len(rows) != 1 || len(rows[0]) != 1 {
		r.failed(fmt.Errorf("not one number: %s", clip(statement)))
		return 0
	}
	n, _ = rows[0][0].(float64)
	return n
}

// makeDatabase recreates a database with the schema, and fills it by statements.
func (r *run) makeDatabase(ctx context.Context, name string, fill ...string) {
	if r.exec(ctx, "DROP DATABASE IF EXISTS "+name+" SYNC"); r.err != nil {
		return
	}
	r.world.extra = append(r.world.extra, name)
	r.failed(schema.Migrate(ctx, r.world.dsn(embedded.AdminUser, name), schema.Options{}))
	r.exec(ctx, fill...)
	r.settle(ctx)
}

// settle waits until background merges are done.
func (r *run) settle(ctx context.Context) {
	for quiet := 0; quiet < 3 && r.err == nil; {
		n := r.number(ctx, "SELECT count() FROM system.merges WHERE database LIKE '"+strings.TrimSuffix(extraPrefix, "_bench_")+"%'")
		if quiet++; n > 0 {
			quiet = 0
		}
		r.failed(pause(ctx, 300*time.Millisecond))
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

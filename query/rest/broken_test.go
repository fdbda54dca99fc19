package rest_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/embedded"
	"preismon/deploy/testserver"
	"preismon/projector/schema"
	"preismon/query"
	"preismon/query/auth"
	"preismon/query/rest"
	"preismon/query/store"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// What a child of this test process needs to serve the same data.
const (
	childDSN = "PREISMON_REST_TEST_DSN"
	childKey = "PREISMON_REST_TEST_KEY"
)

// A test process with these variables is the service itself, so that it can
// be killed.
func init() {
	dsn := os.Getenv(childDSN)
	if dsn == "" {
		return
	}
	if err := serveChild(dsn, os.Getenv(childKey)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1)
}

func serveChild(dsn, key string) error {
	der, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return err
	}
	private, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return err
	}
	h, err := brokenHandler(dsn, private.(ed25519.PrivateKey))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() { // ends with its parent
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return rest.NewServer(h, slog.New(slog.DiscardHandler)).Serve(l)
}

func brokenHandler(dsn string, key ed25519.PrivateKey) (http.Handler, error) {
	keys, err := auth.NewKeyring(key)
	if err != nil {
		return nil, err
	}
	throttle, err := auth.NewThrottle(auth.ThrottleDefaults(), time.Now)
	if err != nil {
		return nil, err
	}
	ac := auth.Defaults()
	ac.Issuer = baseURL
	authority, err := auth.New(ac, auth.Deps{Keys: keys, Throttle: throttle, Revocations: &revocations{ids: map[string]bool{}}, Now: time.Now, Accounts: accounts{}})
	if err != nil {
		return nil, err
	}
	sc := store.Defaults()
	sc.DSN, sc.SliceRows = contracts.Secret(dsn), 8192
	st, err := store.New(sc)
	if err != nil {
		return nil, err
	}
	qc := query.Defaults()
	qc.CursorKey = contracts.Secret(strings.Repeat("k", 32))
	service, err := query.New(qc, st, time.Now)
	if err != nil {
		return nil, err
	}
	rc := rest.Defaults()
	rc.BaseURL, rc.Build = baseURL, "v0.0.0-test"
	return rest.New(rc, rest.Deps{Service: service, Auth: authority, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
}

// breakable is a service and a ClickHouse, each a process that can be killed
// and started again over the same data.
type breakable struct {
	t       *testing.T
	dir     string
	key     ed25519.PrivateKey
	token   string
	house   *embedded.ClickHouse
	service *exec.Cmd
	url     string
	bytes   int64 // of the whole stream
}

const brokenRows = 300_000

func newBreakable(t *testing.T) *breakable {
	t.Helper()
	b := &breakable{t: t, dir: t.TempDir()}
	_, b.key, _ = ed25519.GenerateKey(nil)
	b.startHouse()
	t.Cleanup(func() { b.kill(b.service); b.killHouse() })
	dsn := b.house.DSN(embedded.AdminUser, embedded.DefaultDatabase)
	must(t, schema.Migrate(t.Context(), dsn, schema.Options{}))
	opt, err := clickhouse.ParseDSN(dsn)
	must(t, err)
	conn, err := clickhouse.Open(opt)
	must(t, err)
	l := &live{surface: &surface{t: t}, conn: conn, now: time.Now().UTC().Truncate(time.Second)}
	l.mark()
	l.account(1, 1, "", "")
	l.exec("INSERT INTO items VALUES (1, '', '', '', '', 'x', '', '', 1)")
	l.exec("INSERT INTO sites VALUES ('shop.example', 'x', 'shop', 'DE', 'EUR', '', false, false, 1)")
	l.scope(1, 1, "SELECT toUInt64(1) AS item, 'shop.example' AS site, [toUInt64(7)] AS orders")
	l.exec("INSERT INTO observations_by_mandate (mandate, captured_desc, item, site, epoch, seq, outcome, currency, price_minor, shipping_minor, merchant, rating_tenths) " +
		fmt.Sprintf("SELECT 1, -(%d - number * 200), 1, 'shop.example', %d, number + 1, 'priceObserved', 'EUR', number, -1, concat('Merchant ', toString(number %% 100)), 255 FROM numbers(%d)", l.now.Add(-time.Minute).UnixMilli(), liveEpoch, brokenRows))
	must(t, conn.Close())
	b.startService()
	keys, err := auth.NewKeyring(b.key)
	must(t, err)
	throttle, err := auth.NewThrottle(auth.ThrottleDefaults(), time.Now)
	must(t, err)
	ac := auth.Defaults()
	ac.Issuer = baseURL
	authority, err := auth.New(ac, auth.Deps{Keys: keys, Throttle: throttle, Revocations: &revocations{ids: map[string]bool{}}, Now: time.Now, Accounts: accounts{}})
	must(t, err)
	issued, _, err := authority.IssueREST(1)
	must(t, err)
	b.token = issued.Token.Reveal()
	whole, err := b.withGo(nil)
	if err != nil || !whole.complete || whole.rows != brokenRows {
		t.Fatalf("the whole stream: %+v, %v", whole, err)
	}
	b.bytes = whole.bytes
	return b
}

func (b *breakable) startHouse() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	var err error
	b.house, err = embedded.StartClickHouse(ctx, embedded.ClickHouseConfig{
		Dir: filepath.Join(b.dir, "clickhouse"), NoProgram: true, Logger: slog.New(slog.DiscardHandler),
	})
	must(b.t, err)
}

// killHouse is kill -9, and waits until the process is gone.
func (b *breakable) killHouse() {
	if p, err := os.FindProcess(b.house.PID()); err == nil {
		_ = p.Kill()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_ = b.house.Stop(ctx)
}

func (b *breakable) startService() {
	b.t.Helper()
	self, err := os.Executable()
	must(b.t, err)
	der, err := x509.MarshalPKCS8PrivateKey(b.key)
	must(b.t, err)
	b.service = exec.Command(self)
	b.service.Env = append(os.Environ(),
		childDSN+"="+b.house.DSN(embedded.QueryUser, embedded.DefaultDatabase), childKey+"="+base64.StdEncoding.EncodeToString(der))
	_, err = b.service.StdinPipe()
	must(b.t, err)
	out, err := b.service.StdoutPipe()
	must(b.t, err)
	b.service.Stderr = os.Stderr
	must(b.t, b.service.Start())
	address, err := bufio.NewReader(out).ReadString('\n')
	must(b.t, err)
	b.url = "http://" + strings.TrimSpace(address) + "/v1/results/stream?orderId=7"
}

func (b *breakable) kill(c *exec.Cmd) {
	if c != nil && c.Process != nil {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

// received is what a client got.
type received struct {
	bytes    int64
	rows     int
	complete bool // it says so itself
}

// withGo reads the stream and calls at for each piece.
func (b *breakable) withGo(at func(read int64)) (received, error) {
	var got received
	r, err := http.NewRequestWithContext(b.t.Context(), "GET", b.url, nil)
	must(b.t, err)
	r.Header.Set("Authorization", "Bearer "+b.token)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}, Timeout: 2 * time.Minute}
	resp, err := client.Do(r)
	if err != nil {
		return got, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return got, fmt.Errorf("status %d", resp.StatusCode)
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := resp.Body.Read(buf)
		got.bytes += int64(n)
		got.rows += bytes.Count(buf[:n], []byte("\n"))
		if at != nil {
			at(got.bytes)
		}
		if err != nil {
			got.complete = resp.Trailer.Get("X-Results-Complete") == "true" && resp.Trailer.Get("X-Results-Returned") == fmt.Sprint(got.rows)
			if err == io.EOF {
				err = nil
			}
			return got, err
		}
	}
}

// withCurl does the same with curl.
func (b *breakable) withCurl(at func(read int64)) (received, error) {
	var got received
	cmd := exec.CommandContext(b.t.Context(), "curl", "-sS", "-N", "--fail", "--max-time", "120", "-D", filepath.Join(b.dir, "head"), "-H", "Authorization: Bearer "+b.token, b.url)
	out, err := cmd.StdoutPipe()
	must(b.t, err)
	var said bytes.Buffer
	cmd.Stderr = &said
	must(b.t, cmd.Start())
	buf := make([]byte, 16<<10)
	for {
		n, err := out.Read(buf)
		got.bytes += int64(n)
		got.rows += bytes.Count(buf[:n], []byte("\n"))
		if at != nil {
			at(got.bytes)
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		return got, fmt.Errorf("%w: %s", err, said.String())
	}
	head, err := os.ReadFile(filepath.Join(b.dir, "head"))
	must(b.t, err)
	got.complete = strings.Contains(strings.ToLower(string(head)), "x-results-complete: true")
	return got, nil
}

var kills = flag.Int("kills", 8, "at how many points ClickHouse and the service are killed, each")

// TestKilledStreamsAreBroken kills ClickHouse or the service at 26 random
// points of a stream, while curl or a Go client reads it, in turns: no
// transfer that lacks a row ends as if it were whole, and the next one, after
// a restart, is.
func TestKilledStreamsAreBroken(t *testing.T) {
	testserver.Full(t, "servers killed at many points of a stream")
	t.Parallel() // it mostly waits for servers to start
	b := newBreakable(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 50))
	for victim, kill := range map[string]func(){
		"clickhouse": b.killHouse,
		"service":    func() { b.kill(b.service) },
	} {
		broken, whole := 0, 0
		for point := range *kills {
			client, name := b.withGo, "Go"
			if point%2 == 1 {
				client, name = b.withCurl, "curl"
			}
			place, killed := r.Int64N(b.bytes*9/10), make(chan struct{})
			began := false
			got, err := client(func(read int64) {
				if !began && read >= place {
					began = true
					go func() { kill(); close(killed) }()
				}
			})
			if !began { // it broke by itself
				t.Fatalf("%s, %s: %+v, %v before anything was killed", victim, name, got, err)
			}
			<-killed
			switch {
			case err != nil && got.complete:
				t.Errorf("%s, %s: an error and a trailer that says it is complete: %v", victim, name, err)
			case err != nil:
				broken++
			case !got.complete || got.rows != brokenRows:
				t.Errorf("%s killed at %d of %d bytes, %s: no error after %d of %d rows, complete %v", victim, place, b.bytes, name, got.rows, brokenRows, got.complete)
			default:
				whole++ // the last rows had been sent
			}
			if victim == "clickhouse" {
				b.startHouse()
				b.kill(b.service) // ports are new ones
			}
			b.startService()
		}
		t.Logf("%s: %d of %d transfers broke, %d were whole by then", victim, broken, *kills, whole)
		if broken < *kills/2 {
			t.Errorf("%s: only %d transfers broke: the points are not in the stream", victim, broken)
		}
	}
	if got, err := b.withGo(nil); err != nil || !got.complete || got.rows != brokenRows {
		t.Errorf("afterwards: %+v, %v", got, err)
	}
}

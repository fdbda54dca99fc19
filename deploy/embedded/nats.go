package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/shirou/gopsutil/v4/disk"
)

// natsUser is the only user of the embedded NATS server.
const natsUser = "preismon"

// NATSConfig configures a JetStream server. Only Dir is required.
type NATSConfig struct {
	Dir        string       // its folder, created if missing; holds the streams and the password
	SyncAlways bool         // every message is on disk before it is acknowledged; safe against power loss, slower
	MaxPayload int32        // largest message in bytes; zero: 8 MiB
	MaxStore   int64        // of all streams in bytes; zero: three quarters of what the disk has for them
	Logger     *slog.Logger // nil: slog.Default()
}

// NATS is a JetStream server in this process, on a free port of 127.0.0.1.
type NATS struct {
	server *server.Server
	url    string
}

// StartNATS starts a server and returns when it accepts connections.
func StartNATS(ctx context.Context, cfg NATSConfig) (*NATS, error) {
	if cfg.Dir == "" {
		return nil, errors.New("a folder for NATS is needed")
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	cfg.MaxPayload = cmp.Or(cfg.MaxPayload, 8<<20)
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of NATS: %w", err)
	}
	secrets, err := loadSecrets(filepath.Join(cfg.Dir, "passwords.json"), natsUser)
	if err != nil {
		return nil, err
	}
	store := filepath.Join(cfg.Dir, "store")
	if cfg.MaxStore == 0 {
		room, err := disk.Usage(cfg.Dir)
		if err != nil {
			return nil, fmt.Errorf("see how much disk NATS may use: %w", err)
		}
		used, err := storeSize(store)
		if err != nil {
			return nil, fmt.Errorf("see how much disk NATS uses: %w", err)
		}
		cfg.MaxStore = (int64(room.Free) + used) / 4 * 3
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "preismon", Host: "127.0.0.1", Port: server.RANDOM_PORT,
		Username: natsUser, Password: secrets[natsUser],
		JetStream: true, StoreDir: store, JetStreamMaxStore: cfg.MaxStore, JetStreamMaxMemory: 256 << 20,
		SyncAlways: cfg.SyncAlways, MaxPayload: cfg.MaxPayload, MaxPending: 4 * int64(cfg.MaxPayload),
		NoSigs: true, DisableJetStreamBanner: true,
	})
	if err != nil {
		return nil, fmt.Errorf("configure NATS: %w", err)
	}
	s.SetLoggerV2(natsLogger{cfg.Logger}, false, false, false)
	s.Start()
	n := &NATS{server: s}
	ready := make(chan bool, 1)
	go func() { ready <- s.ReadyForConnections(2 * time.Minute) }() // a large store is read first
	select {
	case ok := <-ready:
		if !ok || !s.JetStreamEnabled() {
			_ = n.Stop(ctx)
			return nil, fmt.Errorf("NATS did not start; if its folder %s was changed by hand, put it back as it was", cfg.Dir)
		}
	case <-ctx.Done():
		_ = n.Stop(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("starting NATS was interrupted: %w", context.Cause(ctx))
	}
	u := url.URL{Scheme: "nats", User: url.UserPassword(natsUser, secrets[natsUser]), Host: s.Addr().String()}
	n.url = u.String()
	return n, nil
}

// storeSize returns the size of the streams on disk; 0 if the folder does not exist yet.
func storeSize(dir string) (int64, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return folderSize(dir), nil
}

// URL returns the server's address with its credentials.
func (n *NATS) URL() string { return n.url }

// InProcessConn connects without a socket; it makes NATS a nats.InProcessConnProvider.
// The credentials of URL are needed here too.
func (n *NATS) InProcessConn() (net.Conn, error) { return n.server.InProcessConn() }

// Stop shuts the server down and returns when its streams are closed, or with
// the cause of ctx when that ends first.
func (n *NATS) Stop(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		n.server.Shutdown()
		n.server.WaitForShutdown()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop NATS: %w", context.Cause(ctx))
	}
}

// natsLogger passes on the server's log lines. Its notices are about its own
// start and stop, and only of interest when debugging.
type natsLogger struct{ to *slog.Logger }

func (l natsLogger) Noticef(f string, v ...any) { l.say(slog.LevelDebug, f, v) }
func (l natsLogger) Debugf(f string, v ...any)  { l.say(slog.LevelDebug, f, v) }
func (l natsLogger) Tracef(f string, v ...any)  { l.say(slog.LevelDebug, f, v) }
func (l natsLogger) Warnf(f string, v ...any)   { l.say(slog.LevelWarn, f, v) }
func (l natsLogger) Errorf(f string, v ...any)  { l.say(slog.LevelError, f, v) }
func (l natsLogger) Fatalf(f string, v ...any)  { l.say(slog.LevelError, f, v) }

func (l natsLogger) say(level slog.Level, f string, v []any) {
	text := fmt.Sprintf(f, v...)
	if !strings.HasPrefix(text, "Plaintext passwords detected") { // our password is in no configuration file
		l.to.Log(context.Background(), level, "nats server", "says", text)
	}
}

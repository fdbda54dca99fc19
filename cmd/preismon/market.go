package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"preismon/archive"
	"preismon/deploy/embedded"
	"preismon/ingest"

	"github.com/alecthomas/kong"
)

// marketCmd is the demo for roles that run separately.
type marketCmd struct {
	roleFlags
	NATS        natsFlags     `embed:""`
	Streams     streamFlags   `embed:""`
	Archive     secret        `name:"archive" help:"Where to put the files of the market's exports and imports, in the form of \"preismon query\"; without it there are none." placeholder:"PLACE"`
	DataDir     string        `help:"Folder for the state of the market and its logins. Default: ${default}." default:"preismon-market" type:"path" placeholder:"DIR"`
	AdminListen string        `help:"Address of /livez, /readyz, /metrics and pprof. Default: ${default}." default:"127.0.0.1:8083" placeholder:"HOST:PORT"`
	Traces      traceFlags    `embed:""`
	Demo        demoFlags     `embed:""`
	StopGrace   time.Duration `help:"How long a stop waits for work in progress." default:"5s"`
}

func (c *marketCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) (err error) {
	cfg := c.NATS.config("market", log)
	faults := faulty(address("admin-listen", c.AdminListen), cfg.Validate(), archiveFlags{Archives: given(c.Archive)}.faults(), c.Demo.faults(), c.Traces.faults())
	if done, err := c.only(k, std.out, faults); done {
		return err
	}
	listener, err := listen("admin-listen", c.AdminListen)
	if err != nil {
		return err
	}
	dir, err := embedded.OpenDataDir(c.DataDir)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	l, a := newLifecycle(log), newAdmin()
	var filled atomic.Bool
	a.ready("market", func(context.Context) error {
		if !filled.Load() {
			return errors.New("not filled up to now yet")
		}
		return nil
	})
	a.serve(l, listener)
	defer func() { err = errors.Join(err, l.stop(c.StopGrace), dir.Close()) }()
	traces, err := c.Traces.start(l, a, "market", log)
	if err != nil {
		return err
	}
	b, err := connect(cfg)
	if err != nil {
		return err
	}
	b.observe(a)
	l.defers("nats connection", func(context.Context) error { b.conn.Close(); return nil })
	if err := ingest.EnsureStreams(ctx, b.js, ingest.StreamConfig{Replicas: c.Streams.Replicas}); err != nil {
		return err
	}
	var files archive.Store
	for _, place := range given(c.Archive) {
		p, err := parseArchive(place.Secret)
		if err != nil {
			return err
		}
		opened, err := p.open()
		if err != nil {
			return err
		}
		l.defers("archive", func(context.Context) error { return opened.Close() })
		files = opened
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	d, err := openDemo(c.Demo, dir, now, log)
	if err != nil {
		return err
	}
	if d.publisher, err = watchedPublisher(b, a, traces, log); err != nil {
		return err
	}
	if err := d.begin(ctx, l, files, std, now); err != nil {
		return err
	}
	if err := d.write(demoAccountsFile, d.market.Accounts()); err != nil {
		return err
	}
	showMarket(std.out, page{market: d.market.Describe(), accounts: d.market.Accounts(), accountsFile: dir.Join(demoAccountsFile)})
	filled.Store(true)
	l.run("demo market", func(ctx context.Context) error { return d.live(ctx, now) })
	log.Info("the market runs", "admin", listener.Addr().String())
	fmt.Fprintln(std.out)
	return l.wait(ctx)
}

// given returns a list of the secret, or an empty one.
func given(s secret) []secret {
	if s.Secret == "" {
		return nil
	}
	return []secret{s}
}

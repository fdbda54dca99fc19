package faults_test

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/cluster"
	"preismon/deploy/testserver/proxy"
)

// startTables starts ClickHouse and points the proxies to it.
func (w *world) startTables(ctx context.Context, l limits) error {
	server, err := startClickHouse(ctx, w.tablesDisk.dir, l)
	if err != nil {
		return err
	}
	if w.tables != nil {
		_ = w.tables.Close()
	}
	w.clickhouse = server
	dsn := server.DSN(embedded.AdminUser, "")
	w.projectorTables.ToURL(dsn)
	w.queryTables.ToURL(dsn)
	// The test's own statements run without limits.
	w.tables, err = sql.Open("clickhouse", dsn+"?max_memory_usage=0&max_execution_time=0&max_concurrent_queries_for_user=0")
	return err
}

// restartTables kills ClickHouse and starts it again, with lower limits if any.
func (w *world) restartTables(ctx context.Context, down time.Duration, l limits) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clickhouse.Kill()
	<-w.clickhouse.Done()
	_ = w.clickhouse.Stop(context.Background())
	time.Sleep(down)
	return w.startTables(ctx, l)
}

// startStreams starts NATS and points the proxies to it.
func (w *world) startStreams() error {
	if w.cluster != nil {
		return w.connectStreams(w.cluster.URL(0))
	}
	if err := w.nats.Start(); err != nil {
		return err
	}
	for _, p := range []*proxy.Proxy{w.projectorStreams, w.queryStreams, w.producerStreams} {
		p.ToURL(w.nats.URL())
	}
	return w.connectStreams(w.nats.URL())
}

func (w *world) connectStreams(address string) (err error) {
	if w.bus, err = nats.Connect(address, nats.Timeout(30*time.Second), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond)); err != nil {
		return err
	}
	w.js, err = jetstream.New(w.bus)
	return err
}

// streamsURL is where a role finds its streams: through its proxy, or through
// those of the cluster.
func (w *world) streamsURL(by *proxy.Proxy) string {
	if w.cluster != nil {
		return w.cluster.URL(0)
	}
	return by.URL(w.nats.URL())
}

func (w *world) replicas() int {
	if w.cluster != nil {
		return cluster.Size
	}
	return 1
}

// restartStreams kills NATS and starts it again.
func (w *world) restartStreams(down time.Duration) error {
	return w.restartStreamsIn(down, func() error { return nil })
}

// restartStreamsIn restarts NATS and calls meanwhile while it is down.
func (w *world) restartStreamsIn(down time.Duration, meanwhile func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bus.Close()
	w.nats.Kill()
	time.Sleep(down)
	return errors.Join(meanwhile(), w.startStreams())
}

// revive starts what a fault left dead: one fault may keep another from
// starting a server or a role again, for example on a full disk. A role that
// ran and ended by itself is a finding.
func (w *world) revive() error {
	err := w.reviveServers()
	for _, r := range append(w.projectors[:], w.query) {
		if r.Exited() {
			err = errors.Join(err, wrong("I7", "%s ended by itself", r.Args[0]))
		}
		err = errors.Join(err, restart(r))
	}
	return err
}

func (w *world) reviveServers() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	select {
	case <-w.clickhouse.Done():
		err = w.startTables(context.Background(), limits{})
	default:
	}
	if w.cluster != nil {
		return errors.Join(err, w.reviveCluster())
	}
	if !w.nats.Up() || w.bus == nil || w.bus.IsClosed() {
		w.nats.Kill()
		err = errors.Join(err, w.startStreams())
	}
	return err
}

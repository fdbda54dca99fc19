package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"preismon/contracts"
	"preismon/ingest"
	"preismon/projector/clickhouse"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsFlags configure the connection to NATS.
type natsFlags struct {
	URL   secret `name:"nats-url" aliases:"nats" help:"NATS servers, with credentials if they need any: nats://user:password@host:4222." placeholder:"URL"`
	Token secret `name:"nats-token" help:"Token for NATS, instead of credentials in the URL." placeholder:"TOKEN"`
	CA    string `name:"nats-ca" help:"PEM file with the certificate authority of NATS." type:"path" placeholder:"FILE"`
}

func (f natsFlags) config(name string, log *slog.Logger) ingest.Config {
	return ingest.Config{URL: f.URL.Reveal(), Token: f.Token.Secret, CAFile: f.CA, Name: "preismon " + name, Logger: log}
}

// checkDSN refuses the address of another kind of server, which the driver would
// treat as one of ClickHouse.
func checkDSN(dsn contracts.Secret) error {
	if u, err := url.Parse(dsn.Reveal()); err != nil || u.Scheme != "clickhouse" && u.Scheme != "tcp" || u.Host == "" {
		return errors.New("clickhouse-dsn: not of the form clickhouse://user:password@host:9000/database")
	}
	return nil
}

// checkOneServer refuses the DSN of a writer that names several servers: the
// fence, and what is read back after an unknown outcome, must come from the
// server that is written to.
func checkOneServer(cfg clickhouse.Config) error {
	if len(cfg.Addrs) > 1 {
		return fmt.Errorf("clickhouse-dsn: names %d servers, but a projector writes to one: what it reads back from another replica may not be there yet", len(cfg.Addrs))
	}
	return nil
}

// bus is a connection to NATS with its JetStream.
type bus struct {
	conn *nats.Conn
	js   jetstream.JetStream
}

// observe publishes the state of the connection.
func (b *bus) observe(a *admin) {
	a.gauge("preismon_nats_connected", "1 while this process is connected to NATS.", func() float64 { return truth(b.conn.IsConnected()) })
	a.counter("preismon_nats_reconnects_total", "Reconnects to NATS after a lost connection.", func() uint64 { return b.conn.Stats().Reconnects })
}

func connect(cfg ingest.Config, options ...nats.Option) (*bus, error) {
	conn, err := ingest.Connect(cfg, options...)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &bus{conn, js}, nil
}

// streamFlags configure the streams when they are created, and the buckets.
type streamFlags struct {
	Replicas int `name:"stream-replicas" help:"Replicas of the streams and key-value buckets in NATS: 3 in a cluster, the same for every role." default:"1"`
}

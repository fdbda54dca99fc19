// Package cluster runs three NATS servers with JetStream as one cluster within
// the test's process, with a proxy on each route between two of them and one in
// front of each for its clients. So a follower can be slow, and a server can be
// cut off, killed, or restarted on an older disk. The servers are real; a killed
// server notifies no one, but its files are as it wrote them.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"preismon/deploy/testserver/proxy"
)

// Size is the number of servers.
const Size = 3

// patience is for what happens soon on a quiet machine.
const patience = 60 * time.Second

// Cluster is three servers. Its methods may be called concurrently, except those
// for the same server.
type Cluster struct {
	tb     testing.TB
	nodes  [Size]*node
	routes [Size][Size]*proxy.Proxy // the first dials the second, and is the greater

	mu  sync.Mutex
	cut [Size][Size]bool // which routes are cut
}

type node struct {
	dir     string
	clients *proxy.Proxy

	mu     sync.Mutex
	server *server.Server // nil: it is down
}

// Start starts the servers, and returns when they are one cluster.
func Start(tb testing.TB) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb}
	dir := tb.TempDir()
	for i := range c.nodes {
		c.nodes[i] = &node{dir: filepath.Join(dir, name(i)), clients: proxy.New(tb, "")}
		for j := range i {
			c.routes[i][j] = proxy.New(tb, "")
		}
	}
	tb.Cleanup(func() {
		var group sync.WaitGroup // one alone would wait for the others
		for i := range c.nodes {
			group.Go(func() { c.Kill(i) })
		}
		group.Wait()
	})
	for i := range c.nodes {
		if err := c.Start(i); err != nil {
			tb.Fatal(err)
		}
	}
	if err := c.Whole(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return c
}

func name(i int) string { return "n" + strconv.Itoa(i) }

// nowhere is the route that servers advertise to others, so that they use the proxies.
const nowhere = "127.0.0.1:1"

// Start starts a server that is down.
func (c *Cluster) Start(i int) error {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server != nil {
		return nil
	}
	var routes []string
	for j := range i {
		routes = append(routes, "nats://"+c.routes[i][j].Address())
	}
	s, err := server.NewServer(&server.Options{
		ServerName: name(i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		MaxPayload: 8 << 20, MaxPending: 32 << 20,
		JetStream: true, StoreDir: n.dir, JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 4 << 30,
		Cluster: server.ClusterOpts{Name: "faults", Host: "127.0.0.1", Port: server.RANDOM_PORT, Advertise: nowhere, NoAdvertise: true},
		Routes:  server.RoutesFromStr(strings.Join(routes, ",")),
	})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		return fmt.Errorf("server %s does not start", name(i))
	}
	n.server = s
	for j := i + 1; j < Size; j++ {
		c.routes[j][i].To(s.ClusterAddr().String())
	}
	n.clients.To(s.Addr().(*net.TCPAddr).String())
	n.clients.Refuse()
	n.clients.Mend()
	c.join(i)
	return nil
}

// Kill ends a server abruptly: its connections are broken first, so that it
// cannot notify anyone.
func (c *Cluster) Kill(i int) {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil {
		return
	}
	n.clients.Refuse()
	c.Split(i)
	n.server.Shutdown()
	n.server.WaitForShutdown()
	n.server = nil
}

// Up reports whether a server runs.
func (c *Cluster) Up(i int) bool { return c.at(i) != nil }

func (c *Cluster) at(i int) *server.Server {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server
}

// Save copies the files of a server that is down.
func (c *Cluster) Save(i int) error { return replace(c.nodes[i].dir+".old", c.nodes[i].dir) }

// Restore replaces the files of a server that is down by those that Save copied.
func (c *Cluster) Restore(i int) error { return replace(c.nodes[i].dir, c.nodes[i].dir+".old") }

func replace(to, from string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

// Clients returns the proxy in front of a server for its clients.
func (c *Cluster) Clients(i int) *proxy.Proxy { return c.nodes[i].clients }

// Late delays what one server sends to another; 0: no longer.
func (c *Cluster) Late(from, to int, by time.Duration) {
	p, d := c.routes[max(from, to)][min(from, to)], proxy.Up
	if from < to { // the greater one dials
		d = proxy.Down
	}
	p.Set(d, proxy.Rule{Left: -1, Late: by})
}

// Split cuts a server off from the others, but from nothing else: its clients
// still reach it.
func (c *Cluster) Split(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for j := range Size {
		if j != i {
			c.routes[max(i, j)][min(i, j)].Refuse()
			c.cut[max(i, j)][min(i, j)] = true
		}
	}
}

// Cut cuts the route between two servers: both still reach the third.
func (c *Cluster) Cut(i, j int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, b := max(i, j), min(i, j)
	c.routes[a][b].Refuse()
	c.cut[a][b] = true
}

// Join undoes Split, and Cut for that server's routes.
func (c *Cluster) Join(i int) {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server != nil {
		c.join(i)
	}
}

func (c *Cluster) join(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for j := range Size {
		if a, b := max(i, j), min(i, j); j != i && c.cut[a][b] {
			c.routes[a][b].Mend()
			c.cut[a][b] = false
		}
	}
}

// Heal undoes what was done to the routes and to the clients.
func (c *Cluster) Heal() {
	for i := range Size {
		c.nodes[i].clients.Heal()
		for j := range i {
			c.routes[i][j].Heal()
		}
		c.Join(i)
	}
}

// URL returns the addresses of all servers, through their proxies, beginning
// with the first.
func (c *Cluster) URL(first int) string {
	var all []string
	for k := range Size {
		all = append(all, "nats://"+c.nodes[(first+k)%Size].clients.Address())
	}
	return strings.Join(all, ",")
}

// Whole starts servers that are down and waits until every server knows all
// others, and all their streams and consumers are current.
func (c *Cluster) Whole(ctx context.Context) error {
	for i := range c.nodes {
		if !c.Up(i) {
			if err := c.Start(i); err != nil {
				return err
			}
		}
	}
	var why error
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if why = c.whole(); why == nil {
			return nil
		}
		if time.Since(began) > patience || ctx.Err() != nil {
			return fmt.Errorf("the cluster is not whole: %w", why)
		}
	}
}

func (c *Cluster) whole() error {
	leaders := 0
	for i := range c.nodes {
		s := c.at(i)
		if s == nil {
			return errors.New(name(i) + " is down")
		}
		if n := s.NumRemotes(); n < Size-1 { // two that know each other only through the third would lose each other with it
			return fmt.Errorf("%s has routes to %d servers", name(i), n)
		}
		if s.JetStreamIsLeader() {
			leaders++
		}
		if h := s.Healthz(&server.HealthzOptions{}); h.Error != "" {
			return errors.New(name(i) + ": " + h.Error)
		}
	}
	if leaders != 1 {
		return fmt.Errorf("%d servers lead", leaders)
	}
	return nil
}

// StepDown asks the leader of a stream, or of a consumer if one is named, to
// step down in favour of server to; below 0: of any other.
func (c *Cluster) StepDown(ctx context.Context, nc *nats.Conn, stream, consumer string, to int) error {
	subject := "$JS.API.STREAM.LEADER.STEPDOWN." + stream
	if consumer != "" {
		subject = "$JS.API.CONSUMER.LEADER.STEPDOWN." + stream + "." + consumer
	}
	var body []byte
	if to >= 0 {
		body = []byte(`{"placement":{"preferred":"` + name(to) + `"}}`)
	}
	m, err := nc.RequestWithContext(ctx, subject, body)
	if err != nil {
		return err
	}
	var answer struct{ Error *struct{ Description string } }
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return errors.New(answer.Error.Description)
	}
	return nil
}

// Node returns the index of the server with that name.
func Node(of string) int {
	i, err := strconv.Atoi(strings.TrimPrefix(of, "n"))
	if err != nil {
		return -1
	}
	return i
}

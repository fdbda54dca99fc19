package store

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/clickhouse-go/v2"
)

// WithSettings opens a store that adds settings of ClickHouse to every
// statement. A setting that the server does not know makes each statement fail.
func WithSettings(t testing.TB, cfg Config, more map[string]string) *Store {
	t.Helper()
	s := must.Get(New(cfg))(t)
	defer s.Close()
	opt := must.Get(clickhouse.ParseDSN(cfg.DSN.Reveal()))(t)
	ofObservations, others := s.node.Statements()
	opt.MaxOpenConns, opt.MaxIdleConns = ofObservations+others+1, others
	opt.Settings = clickhouse.Settings{}
	var native []ch.Setting
	add := func(name, value string) {
		opt.Settings[name] = value
		native = append(native, ch.Setting{Key: name, Value: value, Important: true})
	}
	for k, v := range settings {
		add(k, fmt.Sprint(v))
	}
	for k, v := range more {
		add(k, v)
	}
	conn := must.Get(clickhouse.Open(opt))(t)
	reads := must.Get(newPool(ch.Options{
		Address: opt.Addr[0], Database: opt.Auth.Database, User: opt.Auth.Username, Password: opt.Auth.Password,
		TLS: tlsOf(opt.TLS), Settings: native, ReadTimeout: ch.NoTimeout, DialTimeout: 5 * time.Second, ClientName: "preismon test",
	}, ofObservations))(t)
	with := &Store{shards: s.shards, node: s.node, conn: conn, reads: reads, circuit: &circuit{probe: reads.probe}, sliceRows: s.sliceRows, pairRows: s.pairRows}
	with.remember()
	t.Cleanup(func() { with.Close() })
	return with
}

// Sharded reports whether the rows are spread over several shards.
func (s *Store) Sharded() bool { return s.shards.Several() }

// Unseen returns how many rows any part of a window may have in addition to
// those in the index.
func (s *Store) Unseen(ctx context.Context, m contracts.MandateID, from, to time.Time) (uint64, error) {
	_, unseen, err := s.granules(ctx, m, from.UnixMilli(), to.UnixMilli(), 1000)
	return unseen, err
}

// FeedTogether reads the feeds of two mandates with one statement, if they can
// share one, and returns the texts made from their blocks.
func (s *Store) FeedTogether(ctx context.Context, a, b query.Visibility, q *query.FeedQuery, text func(*query.Block) []string) (out []string, err error) {
	var readers []*feedReader
	var reading sync.WaitGroup
	texts := make([][]string, 2)
	ended := make(chan struct{})
	for i, v := range []query.Visibility{a, b} {
		if _, whole := feedStatement(s.shards, v, q, nil); !whole {
			close(ended)
			return nil, nil
		}
		r := &feedReader{vis: v, query: q, blocks: make(chan *query.Block), taken: make(chan struct{}), left: make(chan struct{})}
		readers = append(readers, r)
		reading.Go(func() {
			defer close(r.left)
			for {
				select {
				case b := <-r.blocks:
					texts[i] = append(texts[i], text(b)...)
					r.taken <- struct{}{}
				case <-ended:
					return
				}
			}
		})
	}
	_, err = s.readFeeds(ctx, readers)
	close(ended)
	reading.Wait()
	return append(append(texts[0], "and"), texts[1]...), err
}

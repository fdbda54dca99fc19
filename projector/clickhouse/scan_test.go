package clickhouse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/ch-go"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/projector/clickhouse"
)

func TestScan(t *testing.T) {
	cfg := must.Get(clickhouse.ParseDSN(testserver.ClickHouse(t).ProjectorDSN))(t)
	pool := clickhouse.Open(cfg, 1)
	defer pool.Close() //nolint:errcheck // nothing is left to say
	query := ch.Query{Body: "SELECT number AS n, toLowCardinality(toString(number * 2)) AS s FROM numbers(3)", Settings: []ch.Setting{ch.SettingInt("max_block_size", 2)}}

	var n uint64
	var s string
	var got []string
	row := clickhouse.Row{"n": &n, "s": &s}
	each := func() { got = append(got, s) }
	if err := pool.Do(t.Context(), clickhouse.Scan(query, row, each)); err != nil || n != 2 || !slices.Equal(got, []string{"0", "2", "4"}) {
		t.Errorf("%d, %q, %v", n, got, err)
	}
	if n, err := clickhouse.Number(t.Context(), pool, "SELECT number AS n FROM numbers({first:UInt64}, 1)", map[string]any{"first": 7}); err != nil || n != 7 {
		t.Errorf("number %d, %v", n, err)
	}
	for want, row := range map[string]clickhouse.Row{
		"column s: no variable":      {"n": &n},
		"column s: a variable of ui": {"n": &n, "s": &n},
	} {
		if err := pool.Do(t.Context(), clickhouse.Scan(query, row, nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

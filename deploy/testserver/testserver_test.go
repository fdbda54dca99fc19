package testserver_test

import (
	"database/sql"
	"testing"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
)

func TestClickHouseIsDropped(t *testing.T) {
	var name string
	t.Run("uses", func(t *testing.T) { name = testserver.ClickHouse(t).Database })
	db := must.Get(sql.Open("clickhouse", testserver.ClickHouse(t).AdminDSN))(t)
	defer db.Close()
	var n uint64
	if err := db.QueryRowContext(t.Context(), "SELECT count() FROM system.databases WHERE name = ?", name).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d databases %s, %v", n, name, err)
	}
}

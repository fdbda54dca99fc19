package store

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
)

// TestCodesAreThoseOfClickHouse: the server's name of each code is the meaning
// that we use.
func TestCodesAreThoseOfClickHouse(t *testing.T) {
	options := must.Get(clickhouse.ParseDSN(testserver.ClickHouse(t).AdminDSN))(t)
	db := clickhouse.OpenDB(options)
	defer db.Close()
	for code, want := range map[int]string{
		codeTimeoutExceeded: "TIMEOUT_EXCEEDED", codeTooSlow: "TOO_SLOW",
		codeTooManyQueries: "TOO_MANY_SIMULTANEOUS_QUERIES", codeMemoryLimit: "MEMORY_LIMIT_EXCEEDED", codeServerOverloaded: "SERVER_OVERLOADED",
		codeQueryCancelled: "QUERY_WAS_CANCELLED", codeNetworkError: "NETWORK_ERROR", codeSocketTimeout: "SOCKET_TIMEOUT",
		codeUnknownTable: "UNKNOWN_TABLE", codeTableIsDropped: "TABLE_IS_DROPPED", codeAuthenticationError: "AUTHENTICATION_FAILED",
		codeNoShardAnswers: "ALL_CONNECTION_TRIES_FAILED", codeShardBrokeOff: "ATTEMPT_TO_READ_AFTER_EOF",
	} {
		var got string
		if err := db.QueryRowContext(t.Context(), "SELECT errorCodeToName(?)", code).Scan(&got); err != nil || got != want {
			t.Errorf("%d is %q, %v, want %q", code, got, err, want)
		}
	}
}

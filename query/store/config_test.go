package store

import (
	"testing"

	"preismon/contracts"
)

// TestOneServer: the two clients of a store must ask the same server.
func TestOneServer(t *testing.T) {
	cfg := Defaults()
	for dsn, ok := range map[contracts.Secret]bool{"clickhouse://u:p@ch-1:9000/db": true, "clickhouse://u:p@ch-1:9000,ch-2:9000/db": false} {
		cfg.DSN = dsn
		if err := cfg.Validate(); (err == nil) != ok {
			t.Errorf("%s: %v", dsn, err)
		}
	}
}

package faults_test

import (
	"context"
	"log/slog"
	"maps"
	"testing"
	"time"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/process"
)

var quiet = slog.New(slog.DiscardHandler)

// startClickHouse starts a ClickHouse in the folder, with lower limits if any.
func startClickHouse(ctx context.Context, dir string, l limits) (*embedded.ClickHouse, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	settings := map[string]string{"max_threads": "2"}
	maps.Copy(settings, l.settings)
	return embedded.StartClickHouse(ctx, embedded.ClickHouseConfig{
		Dir: dir, NoProgram: true, Grace: 5 * time.Second, Logger: quiet, Settings: settings, ExtraConfig: l.config, LogLevel: "warning",
	})
}

func TestMain(m *testing.M) { process.Main(m) }

package backup

import (
	"context"
	"time"

	"github.com/ClickHouse/ch-go"

	"preismon/projector/clickhouse"
)

// Newest returns when the server finished its newest backup made by Take; zero:
// it remembers none. It remembers those since its start, and older ones if its
// configuration has a backup_log. It does not know what happened to the files
// since.
func Newest(ctx context.Context, conn clickhouse.Conn) (time.Time, error) {
	kept, err := records(ctx, conn)
	if err != nil {
		return time.Time{}, err
	}
	var newest time.Time
	for _, table := range kept {
		var ms int64
		err := conn.Do(ctx, clickhouse.Scan(ch.Query{
			Body:       "SELECT toInt64(max(toUnixTimestamp(end_time))) * 1000 AS ms FROM system." + clickhouse.Name(table) + " WHERE status = 'BACKUP_CREATED' AND position(name, {part:String}) > 0",
			Parameters: ch.Parameters(map[string]any{"part": "/" + tables + "'"}),
		}, clickhouse.Row{"ms": &ms}, nil))
		if err != nil {
			return time.Time{}, err
		}
		if ms > 0 && time.UnixMilli(ms).After(newest) {
			newest = time.UnixMilli(ms).UTC()
		}
	}
	return newest, nil
}

// records returns the server's tables that list backups.
func records(ctx context.Context, conn clickhouse.Conn) ([]string, error) {
	var name string
	var found []string
	err := conn.Do(ctx, clickhouse.Scan(ch.Query{
		Body: "SELECT name FROM system.tables WHERE database = 'system' AND name IN ('backups', 'backup_log') ORDER BY name",
	}, clickhouse.Row{"name": &name}, func() { found = append(found, name) }))
	return found, err
}

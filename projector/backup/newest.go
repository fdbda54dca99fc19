package backup

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// Newest returns when the server finished its newest backup made by Take; zero:
// it remembers none. It remembers those since its start, and older ones if its
// configuration has a backup_log. It does not know what happened to the files
// since.
func Newest(ctx context.Context, conn Conn) (time.Time, error) {
	kept, err := records(ctx, conn)
	if err != nil {
		return time.Time{}, err
	}
	var newest time.Time
	for _, table := range kept {
		var ms proto.ColInt64
		err := conn.Do(ctx, ch.Query{
			Body:       "SELECT toInt64(max(toUnixTimestamp(end_time))) * 1000 AS ms FROM system." + name(table) + " WHERE status = 'BACKUP_CREATED' AND position(name, {part:String}) > 0",
			Parameters: ch.Parameters(map[string]any{"part": "/" + tables + "'"}),
			Result:     proto.Results{{Name: "ms", Data: &ms}},
		})
		if err != nil {
			return time.Time{}, err
		}
		if len(ms) == 1 && ms[0] > 0 && time.UnixMilli(ms[0]).After(newest) {
			newest = time.UnixMilli(ms[0]).UTC()
		}
	}
	return newest, nil
}

// records returns the server's tables that list backups.
func records(ctx context.Context, conn Conn) ([]string, error) {
	var names proto.ColStr
	var found []string
	err := conn.Do(ctx, ch.Query{
		Body:   "SELECT name FROM system.tables WHERE database = 'system' AND name IN ('backups', 'backup_log')",
		Result: proto.Results{{Name: "name", Data: &names}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range names.Rows() {
				found = append(found, strings.Clone(names.Row(i)))
			}
			return nil
		},
	})
	slices.Sort(found)
	return found, err
}

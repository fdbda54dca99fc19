package rebuild

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"preismon/projector/clickhouse"
)

// ErrReplicated means that the tables have replicas, which would keep the old
// ones while one server has plain new ones.
var ErrReplicated = errors.New("the tables are replicated, and would be exchanged for plain ones of one server")

// CheckPlain returns ErrReplicated for tables that are not those of a single
// server.
func CheckPlain(ctx context.Context, conn clickhouse.Conn, database string) error {
	engines := map[string]string{}
	if err := texts(ctx, conn, "SELECT name AS k, engine AS v FROM system.tables WHERE database = {database:String}", database, engines); err != nil {
		return err
	}
	return plain(engines)
}

// plain checks the engines of tables.
func plain(engines map[string]string) error {
	for _, t := range slices.Sorted(maps.Keys(engines)) {
		if strings.HasPrefix(engines[t], "Replicated") {
			return fmt.Errorf("%w: %s is a %s; migrate a database of another name instead, and start projectors and query nodes on it: they fill it from the streams (see the how-to \"Run on more than one machine\")",
				ErrReplicated, t, engines[t])
		}
	}
	return nil
}

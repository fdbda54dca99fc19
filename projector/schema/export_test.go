package schema

import (
	"context"
	"fmt"
	"strings"

	"preismon/projector/clickhouse"
)

// MigrateTo is Migrate by a program whose newest version is last, in an
// existing database.
func MigrateTo(ctx context.Context, conn clickhouse.Conn, last int) error {
	return migrate(ctx, conn, Options{}, all()[:last])
}

// DDL returns the statements of all migrations, in order, to be run by hand.
func DDL(o Options) (string, error) {
	var b strings.Builder
	o.version = Version()
	for _, m := range all() {
		sts, err := statements(m.text, o)
		if err != nil {
			return "", fmt.Errorf("migration %04d_%s: %w", m.version, m.name, err)
		}
		for _, s := range sts {
			b.WriteString(s + ";\n\n")
		}
	}
	return b.String(), nil
}

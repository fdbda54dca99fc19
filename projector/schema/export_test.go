package schema

import "context"

// MigrateTo is Migrate by a program whose newest version is last, in an
// existing database.
func MigrateTo(ctx context.Context, conn Doer, last int) error {
	return migrate(ctx, conn, Options{}, all()[:last])
}

package schema

import "context"

// MigrateTo is Migrate by a program whose newest version is last, in a
// database that is there.
func MigrateTo(ctx context.Context, conn Doer, last int) error {
	return migrate(ctx, conn, Options{}, all()[:last])
}

package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/projector/schema"
	"preismon/query/store"
)

// TestMigrated: reads are refused until the tables have this program's version,
// which is not checked again afterwards. A check without a result is not a
// refusal.
func TestMigrated(t *testing.T) {
	db := testserver.ClickHouse(t)
	must.Do(t, schema.Migrate(t.Context(), db.AdminDSN, schema.Options{}))
	asked, old := 0, errors.New("version 8")
	state := old
	cfg := store.Defaults()
	cfg.DSN = contracts.Secret(db.QueryDSN)
	cfg.Migrated = func(context.Context) error { asked++; return state }
	st := must.Get(store.New(cfg))(t)
	t.Cleanup(func() { _ = st.Close() })
	const advice = "`preismon migrate`"
	refusal := func(err error) bool {
		var f *fault.Error
		return errors.As(err, &f) && f.Kind == fault.Unavailable && f.RetryAfter > 0 && strings.Contains(f.Msg, advice)
	}
	for range 2 {
		if _, err := st.Watermark(t.Context()); !refusal(err) || !errors.Is(err, old) {
			t.Errorf("on tables of another version: %v", err)
		}
	}
	state = context.DeadlineExceeded
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := st.Watermark(over); err == nil || refusal(err) {
		t.Errorf("who left: %v", err)
	}
	if state = nil; asked != 2 { // a caller that left causes no check
		t.Errorf("asked %d times, want 2", asked)
	}
	for range 3 {
		if _, err := st.Watermark(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
}

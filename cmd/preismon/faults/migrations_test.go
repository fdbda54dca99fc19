package faults_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/process"
	"preismon/projector/schema"
)

// migrationFaults are those of a roll-out that precedes its migration.
var migrationFaults = []fault{
	{name: "rolled-out-before-migration", alone: true, do: func(w *world, rnd *rand.Rand) (err error) {
		leader, standby, err := w.leader()
		if err != nil {
			return err
		}
		// For roles that start now, the tables are one version older.
		if _, err := w.db().Exec("ALTER TABLE schema_migrations DELETE WHERE version = ? SETTINGS mutations_sync = 1", schema.Version()); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.migrate()) }() // whatever happens in between
		for _, r := range []*process.Role{standby, w.query} {
			r.Kill()
			if err := r.Start(); err != nil {
				return err
			}
		}
		time.Sleep(upTo(rnd, 500*time.Millisecond))
		if err := must.Until(patience, "who leads goes on, and who started waits", func() bool {
			return leader.Leads() && !standby.Ready() && !w.query.Ready()
		}); err != nil {
			return err
		}
		leader.Kill()
		if err := leader.Start(); err != nil {
			return err
		}
		time.Sleep(leaseTTL + upTo(rnd, time.Second))
		if leader.Leads() || standby.Leads() {
			return errors.New("a projector leads on older tables")
		}
		if err := w.migrate(); err != nil {
			return err
		}
		_, _, err = w.leader()
		return errors.Join(err, must.Until(patience, "the query node is ready", w.query.Ready))
	}},
}

// migrate runs two migrations at the same time.
func (w *world) migrate() error {
	w.mu.Lock()
	dsn := w.clickhouse.DSN(embedded.AdminUser, "")
	w.mu.Unlock()
	other := make(chan error, 1)
	go func() { other <- schema.Migrate(context.Background(), dsn, schema.Options{}) }()
	return errors.Join(schema.Migrate(context.Background(), dsn, schema.Options{}), <-other)
}

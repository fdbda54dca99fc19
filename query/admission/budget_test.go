package admission_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/query/admission"
)

// A read that waited for a quarter of its time, concurrent waits counted once,
// is late for want of capacity; one that waited less is slow.
func TestLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waits []time.Duration // of statements, concurrently
		late  bool
	}{
		"it did not wait":       {},
		"a little":              {[]time.Duration{4 * time.Second}, false},
		"side by side":          {[]time.Duration{4 * time.Second, 4 * time.Second, 3 * time.Second}, false},
		"a material part of it": {[]time.Duration{6 * time.Second, 6 * time.Second}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := admission.Defaults()
				cfg.Statements = 4
				n := admission.New(cfg)
				var held []func()
				for range cfg.Statements {
					end := must.Get(n.Rows(t.Context(), false))(t)
					held = append(held, end)
				}
				ctx := admission.WithBudget(t.Context(), 20*time.Second)
				for i, wait := range c.waits {
					go func() {
						end, err := n.Rows(ctx, false)
						if err != nil {
							t.Error(err)
							return
						}
						end()
					}()
					time.AfterFunc(wait, held[i])
				}
				time.Sleep(7 * time.Second)
				synctest.Wait()
				if got := n.Late(ctx, context.DeadlineExceeded); admission.Refused(got) != c.late {
					t.Errorf("%v", got)
				}
			})
		})
	}
}

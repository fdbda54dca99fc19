package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
)

// tables: a damaged table is right after it alone was rebuilt, also for readers
// during the rebuild: their answers are either what the damage left or right,
// and after the first right one they stay right.
func (o *operate) tables(t *testing.T) {
	c := o.up.client().login(o.account.LoginIdentifier, o.account.Password)
	c.t = t
	orderID := o.orderOf(t, c)
	from, to := o.window()
	for _, table := range []struct {
		name     string
		damage   []string
		findings []string
		read     func() []row
	}{
		{
			"observations_by_mandate",
			[]string{
				"DELETE FROM observations_by_mandate WHERE cityHash64(item, site) % 2 = 0",
				"INSERT INTO observations_by_mandate SELECT * FROM observations_by_mandate WHERE cityHash64(item, site) % 3 = 0",
			},
			[]string{"missing observations_by_mandate", "doubled observations_by_mandate"},
			func() []row { return results(t, c, from, to) },
		},
		{
			"latest_observations",
			[]string{"DELETE FROM latest_observations WHERE cityHash64(item, site) % 2 = 0"},
			[]string{"missing latest_observations"},
			func() []row { return o.latestOf(t, c, orderID) },
		},
	} {
		t.Run(table.name, func(t *testing.T) {
			right := table.read()
			for _, q := range table.damage {
				must.Get(o.db.ExecContext(t.Context(), q))(t)
			}
			damaged := table.read()
			if len(right) == 0 || reflect.DeepEqual(damaged, right) {
				t.Fatalf("%d rows, %d after the damage", len(right), len(damaged))
			}
			a := o.audit(t, exitFound)
			what := map[string]bool{}
			for _, f := range a.Findings {
				what[f.What+" "+f.Where] = true
			}
			for _, f := range table.findings {
				if !what[f] {
					t.Errorf("findings %v lack %s", what, f)
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			var beside sync.WaitGroup
			reads := 0
			beside.Go(func() {
				for mended := false; ctx.Err() == nil; reads++ {
					got := table.read()
					switch now := reflect.DeepEqual(got, right); {
					case now:
						mended = true
					case mended || !reflect.DeepEqual(got, damaged):
						t.Errorf("read %d has %d rows: neither the %d right ones nor the %d that the damage left; right before: %v", reads, len(got), len(right), len(damaged), mended)
						return
					}
				}
			})
			out, errs, code := o.run(t, "rebuild", "--table", table.name)
			stop()
			beside.Wait()
			t.Logf("%s%d reads beside it", out, reads)
			if code != 0 || !strings.Contains(out, "Table "+table.name+" was rebuilt") {
				t.Fatalf("rebuild: exit code %d: %s%s", code, out, errs)
			}
			if got := table.read(); !reflect.DeepEqual(got, right) {
				t.Errorf("%d rows after it, want %d, or others", len(got), len(right))
			}
			waitUntilApplied(t, o.up)
			o.audit(t, 0, "--content")
			noDoubles(t, o.db)
		})
	}
}

// orderOf returns an order of the caller that has rows to read.
func (o *operate) orderOf(t *testing.T, c *api) string {
	t.Helper()
	status, body := c.get("/v1/orders", nil)
	var list struct {
		Data []struct{ OrderID contracts.OrderID }
	}
	if err := json.Unmarshal(body, &list); status != http.StatusOK || err != nil {
		t.Fatalf("orders: %d %s %v", status, body, err)
	}
	for _, order := range list.Data {
		if id := order.OrderID.String(); len(o.latestOf(t, c, id)) > 5 {
			return id
		}
	}
	t.Fatalf("none of %d orders has results", len(list.Data))
	return ""
}

// latestOf streams the newest captures of an order.
func (o *operate) latestOf(t *testing.T, c *api, orderID string) []row {
	t.Helper()
	all := []row{}
	params := url.Values{"orderId": {orderID}, "latestObservationPerPair": {"true"}}
	if _, _, err := c.stream("/v1/results/stream", params, func(line []byte) error {
		var r row
		err := json.Unmarshal(line, &r)
		all = append(all, r)
		return err
	}); err != nil {
		t.Errorf("stream of the latest: %v", err)
	}
	return all
}

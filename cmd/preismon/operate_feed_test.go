package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver/must"
)

// readFeed reads a feed until it is up to date, and returns its rows and the
// token that continues it. Without a token it begins one of a window.
func (o *operate) readFeed(t *testing.T, c *api, token string, from, to time.Time) (rows []row, next string) {
	t.Helper()
	const form = "2006-01-02T15:04:05.000Z"
	params := url.Values{"capturedFrom": {from.UTC().Format(form)}, "capturedTo": {to.UTC().Format(form)}}
	for {
		if token != "" {
			params = url.Values{"since": {token}}
		}
		status, body := c.get("/ext/v1/changes", params)
		var page struct {
			Data     []row
			Progress struct {
				Token    string
				UpToDate bool
			}
		}
		if err := json.Unmarshal(body, &page); status != http.StatusOK || err != nil || page.Progress.Token == "" {
			t.Fatalf("changes: %d %s %v", status, body, err)
		}
		rows, token = append(rows, page.Data...), page.Progress.Token
		if page.Progress.UpToDate {
			return rows, token
		}
	}
}

// feedRestarts checks that a feed cannot continue from a token, because the
// tables were rebuilt or restored since, and that the request that it is told
// to begin again with returns the rows and a token that works.
func (o *operate) feedRestarts(t *testing.T, c *api, token string, want []row) {
	t.Helper()
	status, body := c.get("/ext/v1/changes", url.Values{"since": {token}})
	var problem struct{ Code, Detail string }
	if err := json.Unmarshal(body, &problem); status != http.StatusGone || err != nil || problem.Code != "CHANGES_HISTORY_REBUILT" {
		t.Fatalf("changes since before: %d %s %v, want 410 CHANGES_HISTORY_REBUILT", status, body, err)
	}
	_, request, _ := strings.Cut(problem.Detail, " GET ")
	request, _, _ = strings.Cut(request, " ")
	if !strings.HasPrefix(request, "/v1/results/stream?") {
		t.Fatalf("it does not say how to begin again: %s", problem.Detail)
	}
	again := *c
	again.prefer = []string{"changes-token"}
	rows := []row{}
	_, trailer, err := again.stream(request, nil, func(line []byte) error {
		var r row
		err := json.Unmarshal(line, &r)
		rows = append(rows, r)
		return err
	})
	if err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("%s: %d rows, want %d, or others: %v", request, len(rows), len(want), err)
	}
	if more, _ := o.readFeed(t, c, trailer.Get("X-Changes-Token"), time.Time{}, time.Time{}); len(more) != 0 {
		t.Errorf("changes since %s: %d rows", request, len(more))
	}
}

// seenFirst moves the first two events with rows that the account sees to the
// front: what those are depends on the time of day.
func (o *operate) seenFirst(t *testing.T) {
	t.Helper()
	rows := must.Get(o.db.Query("SELECT DISTINCT item, site FROM scope_pairs WHERE mandate IN (SELECT mandate FROM accounts FINAL WHERE login_identifier = ?)", o.account.LoginIdentifier))(t)
	defer rows.Close() //nolint:errcheck // Err says what matters
	seen := map[contracts.Pair]bool{}
	for rows.Next() {
		var item uint64
		var site string
		must.Do(t, rows.Scan(&item, &site))
		seen[contracts.Pair{Item: contracts.ItemID(item), Site: contracts.SiteKey(site)}] = true
	}
	must.Do(t, rows.Err())
	for front := range 2 {
		at := slices.IndexFunc(o.observations[front:], func(e *event.Event) bool {
			return slices.ContainsFunc(factsOf(e), func(f fact) bool {
				return seen[contracts.Pair{Item: contracts.ItemID(f.Item), Site: contracts.SiteKey(f.Site)}]
			})
		})
		if at < 0 {
			t.Fatalf("no event with any of %d pairs", len(seen))
		}
		e := o.observations[front+at]
		o.observations = slices.Insert(slices.Delete(o.observations, front+at, front+at+1), front, e)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"preismon/contracts"
	"preismon/query/auth"
)

const (
	loginsPerSecond = 20
	stormRound      = 2 * time.Second
	loginAccount    = 90_000
	loginName       = "storm@example.com"
)

// measureLogins reads pages while people log in, and while nobody does: hashing
// passwords takes processors, and must leave enough of them to the reads.
func (r *run) measureLogins(ctx context.Context) error {
	const node, mandate = "logins", 1
	if err := r.world.serveAs(ctx, node, r.world.database, "--remember-streams", "0", "--logins-per-minute", "1000000"); err != nil {
		return err
	}
	password, err := r.makeLogin(ctx, mandate)
	if err != nil {
		return err
	}
	day := window(r.data.to.Add(-24*time.Hour), r.data.to, "globalScope", "true", "limit", "1000")
	page := func(ctx context.Context) error {
		_, _, err := r.page(ctx, node, mandate, r.unread(day))
		return err
	}
	if _, err := r.pages(ctx, page, new([]float64)); err != nil { // to warm up
		return err
	}
	var alone, withLogins []float64
	var logins atomic.Int64
	series, err := r.interleave(ctx, 0, r.size.readRounds,
		contestant{"pages of 1,000", func(ctx context.Context) (done, error) { return r.pages(ctx, page, &alone) }},
		contestant{fmt.Sprintf("pages of 1,000, beside %d logins a second", loginsPerSecond), func(ctx context.Context) (done, error) {
			storming, stop := context.WithCancel(ctx)
			var storm sync.WaitGroup
			var failed error
			storm.Go(func() { failed = r.storm(storming, node, password, &logins) })
			d, err := r.pages(ctx, page, &withLogins)
			stop()
			storm.Wait()
			if err == nil {
				err = failed
			}
			return d, err
		}},
	)
	if err != nil {
		return err
	}
	r.result.Tables = append(r.result.Tables, Table{
		Title: "Pages beside logins", Series: series,
		Note: fmt.Sprintf("Rows are pages of 24 h of the largest mandate, one after the other. p99 alone %s, beside logins %s; %d logins succeeded.",
			milliseconds(quantile(alone, 0.99)), milliseconds(quantile(withLogins, 0.99)), logins.Load()),
	})
	r.result.put("page_beside_logins_p99", "p99 of pages beside 20 logins a second: time against alone", "×", exactly(quantile(withLogins, 0.99)/quantile(alone, 0.99)), 2, true, "")
	return nil
}

// makeLogin makes an account with a password, which is hashed as for any other.
func (r *run) makeLogin(ctx context.Context, mandate uint64) (password string, err error) {
	password = "correct horse battery"
	hash, err := auth.Defaults().HashPassword(contracts.Secret(password))
	if err != nil {
		return "", err
	}
	return password, r.world.exec(ctx, fmt.Sprintf(`INSERT INTO %s.accounts (account, mandate, login_identifier, password_hash, administrative, disabled, permissions, all_orders, all_sites, version)
VALUES (%d, %d, '%s', '%s', 0, 0, ['results'], 1, 1, 1)`, r.world.database, loginAccount, mandate, loginName, hash))
}

// pages reads pages for a while, and collects how long each took.
func (r *run) pages(ctx context.Context, page func(context.Context) error, took *[]float64) (d done, err error) {
	for began := time.Now(); time.Since(began) < stormRound; d.rows++ {
		sent := time.Now()
		if err := page(ctx); err != nil {
			return d, err
		}
		*took = append(*took, time.Since(sent).Seconds())
	}
	return d, nil
}

// storm logs in at a steady rate until its context ends, however long each login
// takes.
func (r *run) storm(ctx context.Context, node, password string, succeeded *atomic.Int64) error {
	body, err := json.Marshal(map[string]string{"loginIdentifier": loginName, "password": password})
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	defer group.Wait()
	failed := make(chan error, 1)
	tick := time.NewTicker(time.Second / loginsPerSecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-tick.C:
		}
		group.Go(func() {
			if err := r.logIn(ctx, node, body); err == nil {
				succeeded.Add(1)
			} else if ctx.Err() == nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
}

func (r *run) logIn(ctx context.Context, node string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.world.nodes[node].url+"/v1/auth/token", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.world.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("login: %s: %.300s", resp.Status, text)
	}
	return err
}

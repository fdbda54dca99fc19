package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"preismon/query/auth"
)

const (
	loginsPerSecond = 20
	stormRound      = 2 * time.Second
	loginAccount    = 90_000
	loginName       = "storm@example.com"
	loginPassword   = "correct horse battery"
)

// measureLogins reads pages while people log in, and while nobody does: hashing
// passwords takes processors, and must leave enough of them to the reads.
func (r *run) measureLogins(ctx context.Context) {
	const node, mandate = "logins", 1
	r.serveAs(ctx, node, r.world.database, "--remember-streams", "0", "--logins-per-minute", "1000000")
	r.makeLogin(ctx, mandate)
	day := window(r.data.to.Add(-24*time.Hour), r.data.to, "globalScope", "true", "limit", "1000")
	pages := func(took *[]float64) task {
		return func(ctx context.Context) (d done, err error) {
			for began := time.Now(); time.Since(began) < stormRound; d.rows++ {
				sent := time.Now()
				if _, _, err := r.page(ctx, node, mandate, r.unread(day)); err != nil {
					return d, err
				}
				*took = append(*took, time.Since(sent).Seconds())
			}
			return d, nil
		}
	}
	r.interleave(ctx, 1, 0, contestant{"to warm up", pages(new([]float64))})
	var alone, withLogins []float64
	var logins atomic.Int64
	t := r.table("Pages beside logins", "")
	r.compare(ctx, t, 0, r.size.readRounds,
		contestant{"pages of 1,000", pages(&alone)},
		contestant{fmt.Sprintf("pages of 1,000, beside %d logins a second", loginsPerSecond), func(ctx context.Context) (d done, err error) {
			storming, stop := context.WithCancel(ctx)
			var storm errgroup.Group
			storm.Go(func() error { return r.storm(storming, node, &logins) })
			d, err = pages(&withLogins)(ctx)
			stop()
			return d, errors.Join(err, storm.Wait())
		}},
	)
	beside, own := quantile(withLogins, 0.99), quantile(alone, 0.99)
	t.Note = fmt.Sprintf("Rows are pages of 24 h of the largest mandate, one after the other. p99 alone %s, beside logins %s; %d logins succeeded.",
		milliseconds(own), milliseconds(beside), logins.Load())
	r.put("page_beside_logins_p99", "p99 of pages beside 20 logins a second: time against alone", "×", exactly(beside/own), 2, true, "")
}

// makeLogin makes an account with a password, which is hashed as for any other.
func (r *run) makeLogin(ctx context.Context, mandate uint64) {
	hash, err := auth.Defaults().HashPassword(loginPassword)
	r.failed(err)
	r.exec(ctx, fmt.Sprintf(`INSERT INTO accounts (account, mandate, login_identifier, password_hash, administrative, disabled, permissions, all_orders, all_sites, version)
VALUES (%d, %d, '%s', '%s', 0, 0, ['results'], 1, 1, 1)`, loginAccount, mandate, loginName, hash))
}

// storm logs in at a steady rate until its context ends, however long each login
// takes.
func (r *run) storm(ctx context.Context, node string, succeeded *atomic.Int64) error {
	login := request{base: r.world.nodes[node].url, path: "/v1/auth/token", body: map[string]string{"loginIdentifier": loginName, "password": loginPassword}}
	group, working := errgroup.WithContext(ctx)
	tick := time.NewTicker(time.Second / loginsPerSecond)
	defer tick.Stop()
	for {
		select {
		case <-working.Done():
			return group.Wait()
		case <-tick.C:
		}
		group.Go(func() error {
			_, _, err := r.read(ctx, login)
			if err == nil {
				succeeded.Add(1)
			} else if ctx.Err() == nil {
				return err
			}
			return nil
		})
	}
}

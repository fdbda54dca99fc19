package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

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
		return func(ctx context.Context) (d done) {
			for began := time.Now(); time.Since(began) < stormRound && !r.failed(nil); d.rows++ {
				sent := time.Now()
				r.page(ctx, node, mandate, r.unread(day))
				*took = append(*took, time.Since(sent).Seconds())
			}
			return d
		}
	}
	r.interleave(ctx, 1, 0, contestant{"to warm up", pages(new([]float64))})
	var alone, withLogins []float64
	var logins atomic.Int64
	t := r.table("Pages beside logins", "")
	r.compare(ctx, t, 0, r.size.readRounds,
		contestant{"pages of 1,000", pages(&alone)},
		contestant{fmt.Sprintf("pages of 1,000, beside %d logins a second", loginsPerSecond), func(ctx context.Context) done {
			storming, stop := context.WithCancel(ctx)
			var storm sync.WaitGroup
			storm.Go(func() { r.storm(storming, node, &logins) })
			defer storm.Wait()
			defer stop()
			return pages(&withLogins)(ctx)
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
func (r *run) storm(ctx context.Context, node string, succeeded *atomic.Int64) {
	login := request{base: r.world.nodes[node].url, path: "/v1/auth/token", body: map[string]string{"loginIdentifier": loginName, "password": loginPassword}}
	var group sync.WaitGroup
	defer group.Wait()
	tick := time.NewTicker(time.Second / loginsPerSecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		group.Go(func() {
			resp, err := r.reply(ctx, login)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			if err == nil {
				succeeded.Add(1)
			} else if ctx.Err() == nil {
				r.failed(err)
			}
		})
	}
}

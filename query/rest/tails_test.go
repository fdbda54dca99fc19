package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query/admission"
)

// TestTailsStayWithinTheBudget: hundreds of tails at once are all accepted, get
// all rows that arrive, and hold no more than the memory of their node at any
// time, also where that is much less than what all could read at once.
func TestTailsStayWithinTheBudget(t *testing.T) {
	const each, batch = 4, 100
	accounts, batches := effort.Often(25, 75), effort.Often(2, 5)
	l := serveLive(t, func(set *settings) {
		set.unchecked = true
		cfg := admission.Defaults()
		cfg.Memory = int64(accounts) * 96 << 20 / 75
		set.query.Admission = admission.New(cfg)
	})
	l.mark()
	for id := contracts.AccountID(1); id <= contracts.AccountID(accounts); id++ {
		l.account(id, 1, "", "")
	}
	l.exec("INSERT INTO items SELECT number + 1, '', '', '', '', 'x', '', 'Maker', 1 FROM numbers(100)")
	l.exec("INSERT INTO sites VALUES ('shop.example', 'x', 'shop', 'DE', 'EUR', '', false, false, 1)")
	l.scope(1, 1, "SELECT number + 1 AS item, 'shop.example' AS site, [toUInt64(7)] AS orders FROM numbers(100)")

	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	var got atomic.Int64
	client := l.raw()
	for id := contracts.AccountID(1); id <= contracts.AccountID(accounts); id++ {
		for range each {
			resp := must.Get(client.Do(l.request(http.MethodGet, feedAt+"?follow=true&includeExportFields=true", l.token(id), nil).WithContext(ctx)))(t)
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("account %d: %s", id, resp.Status)
			}
			reading.Go(func() {
				defer resp.Body.Close()
				for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
					var line controlLine
					if err := json.Unmarshal(lines.Bytes(), &line); err == nil && line.Control == "" {
						got.Add(1)
					}
				}
			})
		}
	}
	for i := range batches {
		l.observe(1, l.row(fmt.Sprintf("numbers(%d)", batch), map[string]string{
			"item": "number % 100 + 1", "seq": fmt.Sprintf("%d + number", uint64(liveMark)+uint64(i*batch)+1),
			"title": "repeat('A title that is long. ', 15)", "url": "concat('https://shop.example/', toString(number))",
		}))
		l.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, ?, ?)", uint32(liveEpoch), uint64(liveMark+(i+1)*batch))
	}
	want := int64(accounts * each * batches * batch)
	for end := time.Now().Add(time.Minute); got.Load() < want && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	equals.Is(t, want, got.Load(), "%d tails got rows", accounts*each)
	now := l.service.Admission().Stats()
	equals.Is(t, accounts*each, l.service.Stats().Tails, "tails are open")
	if now.Peak > now.Memory || now.RefusedAccount+now.RefusedNode > 0 {
		t.Errorf("they held %d bytes, at most %d; %d and %d were refused", now.Peak, now.Memory, now.RefusedAccount, now.RefusedNode)
	}
	t.Logf("%d tails held at most %d KiB of %d, waited %v for them", accounts*each, now.Peak>>10, now.Memory>>10, now.Waited)
}

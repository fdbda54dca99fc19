package rest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"preismon/contracts"
	"preismon/deploy/testserver/effort"
)

// TestFeedsShowWhatIsSeen reads changes and alerts of what the pairIDs may not
// see, in every way it can be named: they are the same as for something that
// does not exist, and a token opens only for its account. A pairIDs that sees
// nothing waits as long as it requested, even while rows of others arrive, and
// gets an answer that is complete and empty.
func TestFeedsShowWhatIsSeen(t *testing.T) {
	t.Parallel()
	l := serveMatrix(t, 3)
	products := []string{"itemId={item}", "site={site}", "orderId={order}", "ean={ean}", "pzn={pzn}", "asin={asin}&asinLocale={locale}"}
	feeds := []struct {
		path, rule string
		names      []string
	}{
		{feedAt, "", append(slices.Clone(products), "merchant={merchant}", "manufacturer={maker}")},
		{alertsAt, "&rule=PRICE_BELOW&price=99999999&currencyCode=EUR", products},
		{alertsAt, "&rule=NO_OBSERVATION&silentFor=1h", products},
	}
	type requests struct {
		account      contracts.AccountID
		path, name   string
		hidden, none string // tokens
		want         int
	}
	var begun []requests
	for k, o := range []struct {
		account contracts.AccountID
		of      pairIDs
		sees    int
	}{{whole, theirs, 0}, {stranger, own, 0}, {part, own, 0}, {partSites, own, 0}, {unassigned, own, 0}, {unscoped, theirs, 0}, {whole, own, 1}, {stranger, theirs, 1}} {
		for _, f := range feeds {
			for n, name := range f.names {
				if every := effort.Often(len(f.names), 2); n > 0 && n%every != k%every {
					continue
				}
				begin := func(w pairIDs) string {
					return decode[changesPage](t, l.get(w.fill(f.path, name+f.rule), l.token(o.account))).Progress.Token
				}
				begun = append(begun, requests{o.account, f.path, name, begin(o.of), begin(nobodys), o.sees})
			}
		}
	}
	for i, w := range []pairIDs{own, theirs} {
		l.observe(uint64(i+1), l.row("numbers(1)", map[string]string{
			"item": "toUInt64(" + w["item"] + ")", "site": "'" + w["site"] + "'", "seq": fmt.Sprint(uint64(liveMark) + uint64(i)*10 + 1),
			"captured_at": l.at(8 * 24 * time.Hour), // after a silence
			"merchant":    "'" + w["merchant"] + "'", "manufacturer": "'" + w["maker"] + "'",
		}))
	}
	l.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, ?, ?)", uint32(liveEpoch), uint64(liveMark+100))
	l.clock.freeze(l.now.Add(time.Hour)) // all captures but those ahead of it are more than an hour old
	ids := map[string]contracts.AccountID{}
	for _, b := range begun {
		hidden := decode[changesPage](t, l.get(b.path+"?since="+b.hidden, l.token(b.account)))
		none := decode[changesPage](t, l.get(b.path+"?since="+b.none, l.token(b.account)))
		if len(hidden.Data) != b.want || len(none.Data) != 0 || len(b.hidden)-len(b.none) > 60 {
			t.Errorf("account %d, %s, %s: %d records, expected %d, for nothing %d", b.account, b.path, b.name, len(hidden.Data), b.want, len(none.Data))
		}
		for _, row := range hidden.Data {
			if of, known := ids[row.RowID]; known && of != b.account && row.RowID != "" {
				t.Errorf("row id %s of two mandates", row.RowID)
			}
			ids[row.RowID] = b.account
		}
		l.get(b.path+"?since="+b.hidden, l.token(otherThan(b.account))).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	}
	windows := decode[windowList](t, l.get("/ext/v1/windows?site="+own["site"]+"&capturedFrom=2026-01-01", l.token(whole)))
	l.get("/ext/v1/windows?since="+windows.Query.Token, l.token(stranger)).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	for i, a := range []contracts.AccountID{unassigned, unscoped} {
		begun := decode[changesPage](t, l.get(feedAt, l.token(a)))
		waited, began := make(chan changesPage), time.Now()
		go func() {
			var page changesPage
			_ = json.Unmarshal(l.get(feedAt+"?wait=1s&since="+begun.Progress.Token, l.token(a)).body, &page)
			waited <- page
		}()
		time.Sleep(300 * time.Millisecond)
		l.exec("INSERT INTO checkpoints (stream, partition, epoch, seq) VALUES ('OBSERVATIONS', 0, ?, ?)", uint32(liveEpoch), uint64(liveMark+200+i))
		page := <-waited
		if took := time.Since(began); took < time.Second || len(page.Data) != 0 || !page.Progress.UpToDate || page.Progress.Token == "" {
			t.Errorf("account %d, after %v: %+v", a, took, page)
		}
	}
}

// otherThan returns an account that does not own the token of a.
func otherThan(a contracts.AccountID) contracts.AccountID {
	if a == whole {
		return stranger
	}
	return whole
}

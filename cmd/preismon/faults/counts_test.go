package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"preismon/contracts"
)

// counted checks what sums rows up, compares them, finds the newest or tells
// where they come from against the ledger, by way of the rows that were read and
// found to be right. Nothing is published meanwhile.
func (r *reader) counted(ctx context.Context) error {
	rows, err := r.pages(ctx, 1000)
	if err != nil {
		return err
	}
	newest, err := r.latest(ctx)
	if err != nil {
		return err
	}
	return errors.Join(
		r.statistics(ctx, capturesOf(rows)), r.windows(ctx, len(rows)), r.lookup(ctx, capturesOf(newest)),
		r.movers(ctx, rows), r.evidence(ctx, rows), r.explained(ctx, len(rows)), r.position(ctx, newest),
	)
}

// capture is one observation of a pair.
type capture struct {
	contracts.Pair
	at int64
}

// capturesOf returns the captures that rows belong to.
func capturesOf(rows map[int64]*fact) map[capture]bool {
	all := map[capture]bool{}
	for _, f := range rows {
		all[capture{contracts.Pair{Item: f.item, Site: f.site}, f.at}] = true
	}
	return all
}

// statistics counts each capture once, at its site.
func (r *reader) statistics(ctx context.Context, captures map[capture]bool) error {
	params := r.window()
	params.Set("by", "site")
	text, err := r.read(ctx, "/ext/v1/statistics", params)
	if err != nil {
		return err
	}
	var answer struct {
		Data []struct {
			Site         string
			Observations map[string]int
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return wrong("I5", "statistics with status 200 that are none: %v: %.200s", err, text)
	}
	got, want := map[string]int{}, map[string]int{}
	for _, d := range answer.Data {
		for _, n := range d.Observations {
			if n > 0 {
				got[d.Site] += n
			}
		}
	}
	for c := range captures {
		want[string(c.Site)]++
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return wrong("I5", "statistics count captures by site as %v, want %v", got, want)
	}
	return nil
}

// windows count each row once.
func (r *reader) windows(ctx context.Context, want int) error {
	params := r.window()
	params.Del("globalScope")
	params.Set("bucket", "hour")
	text, err := r.read(ctx, "/ext/v1/windows", params)
	if err != nil {
		return err
	}
	var answer struct {
		Data []struct{ Rows int }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return wrong("I5", "windows with status 200 that are none: %v: %.200s", err, text)
	}
	got := 0
	for _, w := range answer.Data {
		got += w.Rows
	}
	if got != want {
		return wrong("I5", "windows count %d rows, want %d", got, want)
	}
	return nil
}

// lookup finds the newest capture of each pair.
func (r *reader) lookup(ctx context.Context, want map[capture]bool) error {
	var asked struct {
		ItemIDs []string `json:"itemIds"`
	}
	for i := range items {
		asked.ItemIDs = append(asked.ItemIDs, strconv.Itoa(i+1))
	}
	body, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	resp, err := r.request(ctx, http.MethodPost, "/ext/v1/lookup", url.Values{}, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	var answer struct {
		Data []struct{ Latest []result }
	}
	if err := json.Unmarshal(text, &answer); err != nil || len(answer.Data) != items {
		return wrong("I5", "a lookup with status 200 that is none: %v: %.200s", err, text)
	}
	got := 0
	for _, d := range answer.Data {
		for _, row := range d.Latest {
			item, err := strconv.ParseUint(row.ItemID, 10, 64)
			c := capture{contracts.Pair{Item: contracts.ItemID(item), Site: contracts.SiteKey(row.Site)}, row.CapturedAt.UnixMilli()}
			if err != nil || !want[c] {
				return wrong("I5", "a lookup finds %+v, which is not the newest of its pair", row)
			}
			got++
		}
	}
	if got != len(want) {
		return wrong("I5", "a lookup finds the newest captures of %d pairs, want %d", got, len(want))
	}
	return nil
}

// count lets the readers count until no answer is refused, because a node that
// was just revived may still be busy.
func (w *world) count(ctx context.Context) error {
	var all error
	for _, r := range w.readers {
		err := r.counted(ctx)
		var f *finding
		for end := time.Now().Add(healed); err != nil && !errors.As(err, &f) && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			err = r.counted(ctx)
		}
		if err != nil {
			all = errors.Join(all, fmt.Errorf("mandate %d: %w", r.mandate, err))
		}
	}
	return all
}

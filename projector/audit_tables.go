package projector

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"preismon/contracts/event"
	"preismon/projector/clickhouse"
)

// slice is a range of positions that is compared at once, excluding after and
// including upTo.
type slice struct{ after, upTo position }

func (s slice) args() args {
	return args{"after_epoch": s.after.epoch, "after_seq": s.after.seq, "epoch": s.upTo.epoch, "seq": s.upTo.seq}
}

// cut divides everything up to the checkpoint into slices without gaps.
func (a *Auditor) cut(ctx context.Context) ([]slice, error) {
	var (
		all      []slice
		from, to position
	)
	values := a.upTo()
	values["rows"] = a.cfg.SliceRows
	err := a.read(ctx, "audit_slices", values, clickhouse.Row{"epoch": &to.epoch, "seq": &to.seq}, func() {
		all = append(all, slice{from, to})
		from = to
	})
	if mark := a.mark[event.StreamObservations]; mark.after(from) { // positions that no event covers
		all = append(all, slice{from, mark})
	}
	return all, err
}

// events looks for events that were ingested more than once.
func (a *Auditor) events(ctx context.Context) error {
	f := Finding{What: Doubled, Where: "ingested_events"}
	return a.read(ctx, "audit_event_ids", a.upTo(), clickhouse.Row{"epoch": &f.Epoch, "first": &f.First, "last": &f.Last, "n": &f.Count}, func() {
		a.found.find(f, "an event was ingested more than once")
	})
}

// observations compares the rows with what the events say they should be.
func (a *Auditor) observations(ctx context.Context, slices []slice) error {
	var at position
	var due, held, different uint64
	for n, s := range slices {
		a.cfg.Progress(AuditProgress{"observations", uint64(n), uint64(len(slices))})
		err := a.read(ctx, "audit_observations", a.was.floor.of(s.args()), clickhouse.Row{
			"epoch": &at.epoch, "seq": &at.seq, "due": &due, "held": &held, "different": &different,
		}, func() {
			a.wrong[at] = struct{}{}
			find := func(what string, n, less uint64) {
				if n > less {
					a.found.find(Finding{What: what, Where: "observations", Epoch: at.epoch, First: at.seq, Last: at.seq, Count: n - less}, "")
				}
			}
			find(Doubled, held, different)
			find(Missing, due, different)
			find(Foreign, different, due)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// byMandate compares the rows of mandates with observations and the scopes. A
// scope that changed meanwhile would explain any difference, so its mandate is
// left to the next audit.
func (a *Auditor) byMandate(ctx context.Context, slices []slice, before map[uint64]scopeState) error {
	row := narrowRow
	if a.cfg.Content {
		row = "xxHash64(" + rowText + ")"
	}
	skip := unsettled(before)
	found := map[uint64]*findings{}
	var at position
	var mandate, due, held uint64
	for n, s := range slices {
		a.cfg.Progress(AuditProgress{"observations_by_mandate", uint64(n), uint64(len(slices))})
		values := a.was.floor.of(s.args())
		values["skip"] = "[" + join(skip) + "]"
		err := a.read(ctx, "audit_observations_by_mandate", values, clickhouse.Row{
			"mandate": &mandate, "epoch": &at.epoch, "seq": &at.seq, "due": &due, "held": &held,
		}, func() {
			if _, ok := a.wrong[at]; ok {
				return // what it is compared with is wrong itself
			}
			f := Finding{
				What: Differs, Where: "observations_by_mandate", Mandate: strconv.FormatUint(mandate, 10),
				Epoch: at.epoch, First: at.seq, Last: at.seq, Count: due,
			}
			switch {
			case held < due:
				f.What, f.Count = Missing, due-held
			case held > due && due > 0:
				f.What, f.Count = Doubled, held-due
			case held > due:
				f.What, f.Count = Foreign, held
			}
			if found[mandate] == nil {
				found[mandate] = &findings{}
			}
			found[mandate].find(f, "")
		}, "{row}", row)
		if err != nil {
			return err
		}
	}
	after, err := a.scopes(ctx)
	if err != nil {
		return err
	}
	left := map[uint64]struct{}{}
	for _, m := range append(skip, unsettled(after)...) {
		left[m] = struct{}{}
	}
	for m, s := range after {
		if s != before[m] {
			left[m] = struct{}{}
		}
	}
	for _, m := range sortedKeys(left) {
		a.out.SkippedScope = append(a.out.SkippedScope, strconv.FormatUint(m, 10))
	}
	for _, m := range sortedKeys(found) {
		if _, ok := left[m]; !ok {
			a.found.add(found[m])
		}
	}
	return nil
}

// latest compares the newest capture of each pair.
func (a *Auditor) latest(ctx context.Context) error {
	var what, site string
	var n, item uint64
	a.cfg.Progress(AuditProgress{"latest_observations", 0, 1})
	err := a.read(ctx, "audit_latest", a.upTo(), clickhouse.Row{"what": &what, "n": &n, "item": &item, "site": &site}, func() {
		f := Finding{What: Missing, Where: "latest_observations", Count: n}
		text := "pairs without their newest capture"
		switch what {
		case "older":
			f.What, text = Differs, "pairs with an older capture than their newest"
		case "unknown":
			f.What, text = Foreign, "pairs with a capture that observations has not"
		}
		a.found.find(f, fmt.Sprintf("%s, such as item %d at %s", text, item, site))
	})
	if err != nil || !a.cfg.Content || len(a.wrong) > 0 { // what it is compared with is wrong itself
		return err
	}
	return a.read(ctx, "audit_latest_content", a.upTo(), clickhouse.Row{"n": &n, "item": &item, "site": &site}, func() {
		if n > 0 {
			a.found.find(Finding{What: Differs, Where: "latest_observations", Count: n},
				fmt.Sprintf("pairs whose newest capture has other rows in observations, such as item %d at %s", item, site))
		}
	}, "{text}", rowText)
}

func join(list []uint64) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.FormatUint(n, 10)
	}
	return strings.Join(texts, ",")
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

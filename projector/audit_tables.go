package projector

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts/event"
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
		all   []slice
		from  position
		epoch proto.ColUInt32
		seq   proto.ColUInt64
	)
	values := a.upTo()
	values["rows"] = a.cfg.SliceRows
	err := a.read(ctx, "audit_slices", values, proto.Results{{Name: "epoch", Data: &epoch}, {Name: "seq", Data: &seq}}, func() {
		for i := range seq {
			to := position{epoch[i], seq[i]}
			all = append(all, slice{from, to})
			from = to
		}
	})
	if mark := a.mark[event.StreamObservations]; mark.after(from) { // positions that no event covers
		all = append(all, slice{from, mark})
	}
	return all, err
}

// events looks for events that were ingested more than once.
func (a *Auditor) events(ctx context.Context) error {
	var epoch proto.ColUInt32
	var first, last, n proto.ColUInt64
	return a.read(ctx, "audit_event_ids", a.upTo(),
		proto.Results{{Name: "epoch", Data: &epoch}, {Name: "first", Data: &first}, {Name: "last", Data: &last}, {Name: "n", Data: &n}},
		func() {
			for i := range n {
				a.found.find(Finding{What: Doubled, Where: "ingested_events", Epoch: epoch[i], First: first[i], Last: last[i], Count: n[i]},
					"an event was ingested more than once")
			}
		})
}

// observations compares the rows with what the events say they should be.
func (a *Auditor) observations(ctx context.Context, slices []slice) error {
	var epoch proto.ColUInt32
	var seq, due, held, different proto.ColUInt64
	for n, s := range slices {
		a.cfg.Progress(AuditProgress{"observations", uint64(n), uint64(len(slices))})
		err := a.read(ctx, "audit_observations", a.was.floor.of(s.args()), proto.Results{
			{Name: "epoch", Data: &epoch}, {Name: "seq", Data: &seq}, {Name: "due", Data: &due}, {Name: "held", Data: &held}, {Name: "different", Data: &different},
		}, func() {
			for i := range seq {
				a.wrong[position{epoch[i], seq[i]}] = struct{}{}
				find := func(what string, n uint64) {
					a.found.find(Finding{What: what, Where: "observations", Epoch: epoch[i], First: seq[i], Last: seq[i], Count: n}, "")
				}
				if held[i] > different[i] {
					find(Doubled, held[i]-different[i])
				}
				if due[i] > different[i] {
					find(Missing, due[i]-different[i])
				}
				if different[i] > due[i] {
					find(Foreign, different[i]-due[i])
				}
			}
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
	var epoch proto.ColUInt32
	var mandate, seq, due, held proto.ColUInt64
	for n, s := range slices {
		a.cfg.Progress(AuditProgress{"observations_by_mandate", uint64(n), uint64(len(slices))})
		values := a.was.floor.of(s.args())
		values["skip"] = "[" + join(skip) + "]"
		err := a.read(ctx, "audit_observations_by_mandate", values, proto.Results{
			{Name: "mandate", Data: &mandate}, {Name: "epoch", Data: &epoch}, {Name: "seq", Data: &seq}, {Name: "due", Data: &due}, {Name: "held", Data: &held},
		}, func() {
			for i, m := range mandate {
				if _, ok := a.wrong[position{epoch[i], seq[i]}]; ok {
					continue // what it is compared with is wrong itself
				}
				f := Finding{
					What: Differs, Where: "observations_by_mandate", Mandate: strconv.FormatUint(m, 10),
					Epoch: epoch[i], First: seq[i], Last: seq[i], Count: due[i],
				}
				switch {
				case held[i] < due[i]:
					f.What, f.Count = Missing, due[i]-held[i]
				case held[i] > due[i]:
					f.What, f.Count = Foreign, held[i]-due[i]
				}
				if due[i] > 0 && f.What == Foreign {
					f.What = Doubled
				}
				if found[m] == nil {
					found[m] = &findings{}
				}
				found[m].find(f, "")
			}
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
	var (
		what    proto.ColStr
		n, item proto.ColUInt64
		site    proto.ColStr
	)
	a.cfg.Progress(AuditProgress{"latest_observations", 0, 1})
	err := a.read(ctx, "audit_latest", a.upTo(),
		proto.Results{{Name: "what", Data: &what}, {Name: "n", Data: &n}, {Name: "item", Data: &item}, {Name: "site", Data: &site}},
		func() {
			for i := range n {
				f := Finding{What: Missing, Where: "latest_observations", Count: n[i]}
				text := "pairs without their newest capture"
				switch what.Row(i) {
				case "older":
					f.What, text = Differs, "pairs with an older capture than their newest"
				case "unknown":
					f.What, text = Foreign, "pairs with a capture that observations has not"
				}
				a.found.find(f, fmt.Sprintf("%s, such as item %d at %s", text, item[i], site.Row(i)))
			}
		})
	if err != nil || !a.cfg.Content || len(a.wrong) > 0 { // what it is compared with is wrong itself
		return err
	}
	return a.read(ctx, "audit_latest_content", a.upTo(),
		proto.Results{{Name: "n", Data: &n}, {Name: "item", Data: &item}, {Name: "site", Data: &site}},
		func() {
			for i := range n {
				if n[i] > 0 {
					a.found.find(Finding{What: Differs, Where: "latest_observations", Count: n[i]},
						fmt.Sprintf("pairs whose newest capture has other rows in observations, such as item %d at %s", item[i], site.Row(i)))
				}
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

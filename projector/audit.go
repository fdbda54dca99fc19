package projector

import (
	"context"
	"fmt"

	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts/event"
)

// Audit is a count of what the tables hold, up to the checkpoint.
type Audit struct {
	Tables   []TableAudit
	Events   uint64 // of ingested_events
	EventIDs uint64 // different ids among them
	Rows     uint64 // that ingested_events says there are
	Expected uint64 // rows that observations_by_mandate should hold: observations x scopes
	Gaps     uint64 // sequences up to the checkpoint without an event: dropped copies, dead letters and deleted messages

	// Findings say in plain words what is wrong; empty: nothing is.
	Findings []string
}

// TableAudit counts one table.
type TableAudit struct {
	Table    string
	Rows     uint64
	Distinct uint64 // different identities of rows
}

// Audit counts rows, identities and events up to the checkpoint and compares
// them. It reads whole tables; call it hourly, not by the minute. Mandates
// whose scope is not applied yet are left out of the comparison by mandate.
func (p *Projector) Audit(ctx context.Context) (*Audit, error) {
	p.mu.Lock() // nothing may be written between its questions
	defer p.mu.Unlock()
	if err := p.calm(ctx); err != nil {
		return nil, err
	}
	mark := p.marks[event.StreamObservations]
	upTo := args{"epoch": mark.epoch, "seq": mark.seq, "partition": p.cfg.Partition}
	a := &Audit{}
	for _, table := range []string{"observations", "observations_by_mandate", "latest_observations", "ingested_events"} {
		t := TableAudit{Table: table}
		var rows, distinct proto.ColUInt64
		err := p.read(ctx, "audit_"+table, upTo, proto.Results{{Name: "n", Data: &rows}, {Name: "distinct_rows", Data: &distinct}}, func() error {
			for i := range rows {
				t.Rows, t.Distinct = rows[i], distinct[i]
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		a.Tables = append(a.Tables, t)
		if t.Rows != t.Distinct {
			a.findf("%s holds %d rows, of which %d are doubled", table, t.Rows, t.Rows-t.Distinct)
		}
	}
	for name, to := range map[string]*uint64{
		"audit_event_ids": &a.EventIDs, "audit_event_rows": &a.Rows, "audit_fanned": &a.Expected, "audit_gaps": &a.Gaps,
	} {
		n, err := p.number(ctx, name, upTo)
		if err != nil {
			return nil, err
		}
		*to = n
	}
	applied, err := p.number(ctx, "audit_applied_rows", upTo)
	if err != nil {
		return nil, err
	}
	a.Events = a.Tables[3].Rows
	if a.Events != a.EventIDs {
		a.findf("%d events were ingested under %d ids: an event is there more than once", a.Events, a.EventIDs)
	}
	if a.Rows != a.Tables[0].Rows {
		a.findf("the events ingested have %d rows, observations holds %d", a.Rows, a.Tables[0].Rows)
	}
	if a.Expected != applied {
		a.findf("the scopes applied give %d rows by mandate, observations_by_mandate holds %d", a.Expected, applied)
	}
	stale, err := p.number(ctx, "audit_latest", upTo)
	if err != nil {
		return nil, err
	}
	if stale > 0 {
		a.findf("%d pairs have a newest capture that latest_observations has not", stale)
	}
	return a, nil
}

func (a *Audit) findf(format string, args ...any) {
	a.Findings = append(a.Findings, fmt.Sprintf(format, args...))
}

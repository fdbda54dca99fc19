package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"preismon/ingest"
	"preismon/projector"
)

// audited is the result of the last periodic audit of the projector.
type audited struct {
	result string
	at     time.Time
	err    error
	audit  *projector.Audit // the last one that could be completed; nil: none
}

// Results of an audit.
const (
	auditClean  = "clean"
	auditFound  = "found"
	auditFailed = "failed"
)

func auditEvery(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("audit-every: %s, is negative", d)
	}
	return nil
}

// lastAudit returns the last audit that could be completed; an empty one: none yet.
func (p *projection) lastAudit() *projector.Audit {
	if last := p.audited.Load(); last != nil && last.audit != nil {
		return last.audit
	}
	return &projector.Audit{}
}

// audits compares streams and tables periodically while this process leads.
func (p *projection) audits(ctx context.Context) {
	if p.auditEvery == 0 {
		return
	}
	due := false // not at once
	every(ctx, p.auditEvery, func() (more bool) {
		if due {
			p.auditOnce(ctx)
		}
		due = true
		return true
	})
}

func (p *projection) auditOnce(ctx context.Context) {
	next := &audited{at: time.Now()}
	if last := p.audited.Load(); last != nil {
		next.audit = last.audit
	}
	audit, err := p.compare(ctx)
	if errors.Is(err, projector.ErrFloorRaised) { // the floor rises once a quarter
		audit, err = p.compare(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		next.result, next.err = auditFailed, err
		p.log.Error("audit failed", "error", err)
	case len(audit.Findings) > 0:
		next.result, next.audit = auditFound, audit
		for _, f := range audit.Findings[:min(len(audit.Findings), 10)] {
			p.log.Error("audit found something wrong", "what", f.Text)
		}
	default:
		next.result, next.audit = auditClean, audit
		p.log.Info("audit found nothing wrong", "events", audit.Events, "rows", audit.Rows, "seconds", audit.Seconds)
	}
	p.audited.Store(next)
	p.metrics.audits.WithLabelValues(next.result).Inc()
}

func (p *projection) compare(ctx context.Context) (*projector.Audit, error) {
	cfg := projector.DefaultAuditConfig()
	cfg.Partition, cfg.Partitions = p.share.Partition, p.share.Partitions
	cfg.Conn, cfg.Streams, cfg.Background = p.conn, ingest.NewHistory(p.bus.js), true
	auditor, err := projector.NewAuditor(cfg)
	if err != nil {
		return nil, err
	}
	return auditor.Run(ctx)
}

// prove compares the tables with the proof of the checkpoint when this process
// begins to lead.
func (p *projection) prove(ctx context.Context, proj *projector.Projector) {
	every(ctx, maintainEvery, func() (more bool) {
		is, err := proj.Prove(ctx)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			p.proved.Store(&is)
			for _, f := range is.Findings {
				p.log.Error("the tables do not hold what was applied: \"preismon audit\" says where, \"preismon rebuild\" or a backup repairs it", "what", f.Text)
			}
			return false
		}
		p.log.Warn("comparing the tables with the proof of the checkpoint failed", "error", err)
		return true
	})
}

// lastProof returns the comparison at the start of the last term; an empty one: none yet.
func (p *projection) lastProof() projector.Proof {
	if last := p.proved.Load(); last != nil {
		return *last
	}
	return projector.Proof{}
}

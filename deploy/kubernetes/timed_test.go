package kubernetes_test

import (
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
)

// timed: a scheduled job is not retried in its pod, and never runs twice at the
// same time.
func (c cluster) timed(t *testing.T, o *batch.CronJob) {
	t.Helper()
	s := o.Spec
	if len(strings.Fields(s.Schedule)) != 5 || s.TimeZone == nil || s.ConcurrencyPolicy != batch.ForbidConcurrent ||
		s.JobTemplate.Spec.ActiveDeadlineSeconds == nil || s.JobTemplate.Spec.Template.Spec.RestartPolicy != core.RestartPolicyNever {
		t.Errorf("%s: schedule %q, %s, limit %v", o.Name, s.Schedule, s.ConcurrencyPolicy, s.JobTemplate.Spec.ActiveDeadlineSeconds)
	}
}

// stays reports whether the workload runs until it is stopped.
func (w workload) stays() bool { return w.spread() || w.role() == "ingest" }

// spread reports whether the workload has several pods.
func (w workload) spread() bool { return w.role() == "query" || w.role() == "projector" }

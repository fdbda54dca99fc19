// Package runbook describes what to do when an alert of deploy/prometheus fires,
// by the names of the alerts. Query nodes serve it, so that an alert can link to
// it.
package runbook

import _ "embed"

// Text is Markdown; each alert is a heading of the second level.
//
//go:embed runbook.md
var Text string

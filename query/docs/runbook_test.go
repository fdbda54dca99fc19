package docs_test

import (
	"net/http"
	"strings"
	"testing"
)

// alerts is a runbook.
const alerts = "# Runbook\n\n## TooLate\n\nSee `preismon doctor`.\n\n<script>alert(1)</script>\n"

// TestRunbook: what an alert links to is a heading of the page, and HTML in the
// text is not interpreted.
func TestRunbook(t *testing.T) {
	page := get(t, http.MethodGet, "/docs/runbook").Body.String()
	if !strings.Contains(page, `<h2 id="toolate">TooLate</h2>`) || !strings.Contains(page, "<code>preismon doctor</code>") || strings.Contains(page, "<script>") {
		t.Errorf("%s", page)
	}
}

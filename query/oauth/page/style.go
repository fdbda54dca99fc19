package page

import (
	"bytes"
	_ "embed"
	"net/http"
	"strings"
	"time"

	"preismon/query/look"
)

// StylePath is where Style must be served, for GET and HEAD.
const StylePath = "/oauth/style.css"

//go:embed style.css
var ownStyle []byte

var (
	style        = look.Colours(ownStyle)
	styleVersion = look.Version(style)
)

// styleLink returns the link from the page at a path to the style sheet. It is
// relative: a proxy may have removed a path that the browser must send.
func styleLink(path string) string {
	return strings.Repeat("../", max(0, strings.Count(path, "/")-1)) + StylePath[1:] + "?v=" + styleVersion
}

// Style serves the style sheet of all pages. Pages request it with its version,
// and browsers may keep such an answer permanently.
func Style() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/css; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("ETag", `"`+styleVersion+`"`)
		h.Set("Cache-Control", "no-cache")
		if r.URL.Query().Get("v") == styleVersion {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(style))
	})
}

// Package look is what the pages for people share: the colours, light and
// dark, the form of what all of them have, and how a file of a page is
// served. The explorer, the reference and the login pages use it, so that they look like one thing.
package look

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"path"
	"slices"
	"time"
)

//go:embed palette.css
var palette []byte

//go:embed base.css
var base []byte

// Colours puts the colours before a style sheet of one's own.
func Colours(own []byte) []byte { return slices.Concat(palette, []byte("\n"), own) }

// Sheet puts the colours and the form of what pages have in common before a
// style sheet of one's own, whose rules win.
func Sheet(own []byte) []byte { return Colours(slices.Concat(base, []byte("\n"), own)) }

// File is a file of a page.
type File struct {
	body            []byte
	mediaType, etag string
}

// mediaTypes are not taken from the system, whose table may differ.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
}

// NewFile makes a file; its name tells what it is by .html, .css or .js.
func NewFile(name string, body []byte) File {
	return File{body: body, mediaType: mediaTypes[path.Ext(name)], etag: `"` + Version(body) + `"`}
}

// Version names a content, for an ETag or an address.
func Version(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// Serve answers GET and HEAD. The file is kept by the browser and asked for
// again each time: a new program brings new files. No other site can show it
// in a frame or learn that it was here; policy is its
// Content-Security-Policy.
func (f File) Serve(w http.ResponseWriter, r *http.Request, policy string) {
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("ETag", f.etag)
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}

// Package look is what the pages for people share: the colours, light and
// dark, the form of what all of them have, and how a file of a page is
// served. The explorer, the reference and the login pages use it, so that they look like one thing.
package look

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"path"
	"slices"
	"time"

	"preismon/query/accept"
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

// File is a file of a page, as it is and compressed.
type File struct {
	body, packed    []byte // packed by gzip; empty: that saves nothing
	mediaType, etag string // the ETag without quotes
}

// mediaTypes are not taken from the system, whose table may differ.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".png": "image/png",
}

// NewFile makes a file; its name tells what it is by .html, .css, .js or .png.
func NewFile(name string, body []byte) File {
	return File{body: body, packed: packed(body), mediaType: mediaTypes[path.Ext(name)], etag: Version(body)}
}

// packed is the content compressed as small as gzip makes it: it is made once
// and sent often. Nil: it is not smaller.
func packed(body []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil
	}
	if _, err := z.Write(body); err != nil || z.Close() != nil || b.Len() >= len(body) {
		return nil
	}
	return b.Bytes()
}

// Version names a content, for an ETag or an address.
func Version(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// Serve answers GET and HEAD. The file is kept by the browser and asked for
// again each time: a new program brings new files. Who takes gzip gets it
// compressed. No other site can show it in a frame or learn that it was here; policy is its
// Content-Security-Policy.
func (f File) Serve(w http.ResponseWriter, r *http.Request, policy string) {
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Add("Vary", "Accept-Encoding")
	body, etag := f.body, f.etag
	if len(f.packed) > 0 && accept.Coding(r.Header.Values("Accept-Encoding"), "gzip") != "" {
		h.Set("Content-Encoding", "gzip")
		body, etag = f.packed, etag+"-gzip"
	}
	h.Set("ETag", `"`+etag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

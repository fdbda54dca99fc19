// Package look holds what the pages for people share: the colours, light and
// dark, their common layout, and how a file of a page is served. The explorer,
// the reference and the login pages use it, so that they look like one product.
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

// Colours puts the colours before the page's own style sheet.
func Colours(own []byte) []byte { return slices.Concat(palette, []byte("\n"), own) }

// Sheet puts the colours and the common style of all pages before the page's
// own style sheet, whose rules win.
func Sheet(own []byte) []byte { return Colours(slices.Concat(base, []byte("\n"), own)) }

// File is a file of a page, uncompressed and compressed.
type File struct {
	body, packed    []byte // compressed by gzip; empty: that saves nothing
	mediaType, etag string // the ETag without quotes
}

// mediaTypes are not taken from the system, whose table may differ.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".png": "image/png",
}

// NewFile returns a file; the extension of its name, .html, .css, .js or .png,
// determines its media type.
func NewFile(name string, body []byte) File {
	return File{body: body, packed: packed(body), mediaType: mediaTypes[path.Ext(name)], etag: Version(body)}
}

// packed returns the content at gzip's best compression: it is compressed once
// and sent often. Nil: it would not be smaller.
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

// Version returns a name for a content, for an ETag or an address.
func Version(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// Serve answers GET and HEAD. The browser keeps the file and revalidates it
// each time, because a new program brings new files. Clients that accept gzip
// get it compressed. Other sites can neither show it in a frame nor learn
// that a visitor came from it; policy is its Content-Security-Policy.
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

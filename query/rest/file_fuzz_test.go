package rest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/rest"
)

// FuzzContentDisposition: whatever a file is called, the header is one line of
// ASCII (RFC 6266) that names no path, no hidden file and nothing invisible; a
// harmless name is unchanged.
func FuzzContentDisposition(f *testing.F) {
	for _, name := range []string{
		"prices.csv", "", "..", "../../etc/passwd", `C:\a\b.csv`, "a\"b;c.csv", "a\r\nSet-Cookie: x=1", "Preise Übersicht.xlsx", "\u202etxt.exe",
		".htaccess", " . ", "\xff\xfe", "%2e%2e%2f", "a\x00b", strings.Repeat("ä", 300), "価格.csv", "filename*=UTF-8''x",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		header := rest.ContentDisposition(name)
		for _, r := range header {
			if r < ' ' || r > '~' {
				t.Fatalf("%q: %q holds %q", name, header, r)
			}
		}
		kind, params, err := mime.ParseMediaType(strings.Split(header, "; filename*=")[0])
		plain := params["filename"]
		if err != nil || kind != "attachment" || plain == "" || len(params) != 1 {
			t.Fatalf("%q: %q: %v", name, header, err)
		}
		shown := plain
		if _, extended, ok := strings.Cut(header, "; filename*="); ok {
			_, params, err := mime.ParseMediaType("attachment; filename*=" + extended)
			if shown = params["filename"]; err != nil || shown == "" {
				t.Fatalf("%q: %q: %v", name, header, err)
			}
		}
		for _, n := range []string{plain, shown} {
			if strings.ContainsAny(n, "/\\") || n[0] == '.' || strings.ContainsFunc(n, func(r rune) bool { return r != utf8.RuneError && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) }) {
				t.Fatalf("%q is offered as %q", name, n)
			}
		}
		harmless := utf8.ValidString(name) && name != "" && strings.Trim(name, " .") == name && !strings.ContainsFunc(name, func(r rune) bool {
			return r == '/' || r == '\\' || unicode.In(r, unicode.C, unicode.Zl, unicode.Zp)
		})
		if harmless && shown != name {
			t.Fatalf("%q is offered as %q", name, shown)
		}
	})
}

// FuzzRange: whatever Range and If-Range say, a 200 is the whole file; a 206 is
// exactly what its Content-Range says, and is sent only for the content that
// If-Range names; anything else is a 416 with the length of the file (RFC 9110,
// section 14).
func FuzzRange(f *testing.F) {
	content := []byte(strings.Repeat("0123456789abcdef", 8))
	sum := sha256.Sum256(content)
	etag := `"` + hex.EncodeToString(sum[:]) + `"`
	for _, r := range []string{
		"", "bytes=0-0", "bytes=0-", "bytes=-1", "bytes=-0", "bytes=127-", "bytes=128-", "bytes=5-4", "bytes=0-99999999999999999999", "bytes= 1 - 2 ", "BYTES=1-2",
		"bytes=0-1,3-4", "bytes=--1", "bytes=-9223372036854775809", "items=0-1", "bytes", "bytes=", "bytes=0x1-2", "bytes=+1-2", "bytes=1-2;x", "\x00", "bytes=１-２",
	} {
		f.Add(r, "")
		f.Add(r, etag)
		f.Add(r, "W/"+etag)
		f.Add(r, etag+", ")
		f.Add(r, "Sat, 21 Nov 2026 00:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, ranges, condition string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Range"], r.Header["If-Range"] = []string{ranges}, []string{condition}
		w := httptest.NewRecorder()
		began, err := rest.SendFile(w, r, &query.FileEntry{Filename: "a.csv", Artifact: query.Artifact{SHA256: hex.EncodeToString(sum[:]), SizeBytes: int64(len(content))}}, content)
		if !began {
			if fault.KindOf(err) != fault.Invalid || w.Header().Get("Content-Range") != fmt.Sprintf("bytes */%d", len(content)) || w.Body.Len() > 0 || w.Header().Get("Content-Disposition") != "" {
				t.Fatalf("%q, %q: %v, %v", ranges, condition, err, w.Header())
			}
			if condition != "" && condition != etag {
				t.Fatalf("%q, %q: refused, and the condition does not hold", ranges, condition)
			}
			return
		}
		want := content
		if w.Code == http.StatusPartialContent {
			var from, to, size int
			if n, err := fmt.Sscanf(w.Header().Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &size); n != 3 || err != nil || size != len(content) || from < 0 || from > to || to >= size {
				t.Fatalf("%q: Content-Range %q", ranges, w.Header().Get("Content-Range"))
			}
			if want = content[from : to+1]; condition != "" && condition != etag {
				t.Fatalf("%q, %q: a part of another content", ranges, condition)
			}
		}
		if err != nil || w.Code != http.StatusOK && w.Code != http.StatusPartialContent || !bytes.Equal(w.Body.Bytes(), want) || w.Header().Get("Content-Length") != fmt.Sprint(len(want)) {
			t.Fatalf("%q, %q: %d, %d bytes of %d, %v", ranges, condition, w.Code, w.Body.Len(), len(want), err)
		}
	})
}

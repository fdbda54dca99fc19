package rest

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/wire"
)

// digestHeader carries the hash of the whole file (RFC 9530).
const digestHeader = "Repr-Digest"

// download sends one archived file, or the part of it that Range requests. A
// failure after the first byte breaks the transfer: no client gets a file that
// ends early or has other content but looks complete.
func (a *api) download(d query.Direction) reader {
	return func(c *gin.Context, p query.Principal) error {
		req, err := wire.DecodeDownload(paramsOf(c), d)
		if err != nil {
			return err
		}
		found, err := a.service.Download(c.Request.Context(), p, req)
		if err == nil {
			err = exchangeOf(c.Request).hold.Err()
		}
		if err != nil {
			return err
		}
		content := &fileContent{
			size: found.SizeBytes,
			open: func(offset int64) (io.ReadCloser, error) { return found.Open(c.Request.Context(), offset) },
		}
		if c.Request.Method == http.MethodHead {
			content.open = func(int64) (io.ReadCloser, error) { return http.NoBody, found.Exists(c.Request.Context()) }
		}
		defer content.Close() //nolint:errcheck // what was sent cannot be taken back
		began, err := sendFile(c.Writer, c.Request, &found.FileEntry, content)
		if !began || err == nil {
			return err
		}
		if content.err != nil && c.Request.Context().Err() == nil {
			a.logFailure(c.Request, slog.LevelError, content.err)
		}
		panic(http.ErrAbortHandler)
	}
}

// sendFile sends a file, or the part of it that Range requests. If it fails
// after it began, the transfer must be broken.
func sendFile(to http.ResponseWriter, r *http.Request, e *query.FileEntry, content *fileContent) (began bool, err error) {
	h := to.Header()
	if err := describe(h, e); err != nil {
		return false, err
	}
	w := &fileWriter{ResponseWriter: to, content: content}
	http.ServeContent(w, conditionsOf(r, h.Get("ETag")), "", time.Time{}, content)
	if w.began {
		return true, errors.Join(content.err, w.err)
	}
	for _, name := range fileHeaders {
		h.Del(name)
	}
	if w.refused == http.StatusPreconditionFailed {
		return false, fault.New(fault.Conflict, wire.CodePrecondition, "")
	}
	if content.err != nil {
		h.Del("Content-Range")
		return false, content.err
	}
	h.Set("Content-Range", "bytes */"+strconv.FormatInt(e.SizeBytes, 10))
	return false, fault.New(fault.Invalid, wire.CodeRange, "The file has %d bytes and no such range of them.", e.SizeBytes)
}

// fileHeaders describe a file and appear on no other answer.
var fileHeaders = []string{"Content-Disposition", "ETag", digestHeader, "Accept-Ranges", "Content-Length"}

// describe sets the headers of a file. Its hash is its identity: the same for
// the same content, however often and wherever it is stored.
func describe(h http.Header, e *query.FileEntry) error {
	sum, err := hex.DecodeString(e.SHA256)
	if err != nil {
		return err
	}
	h.Set("Content-Type", e.ContentType())
	h.Set("Content-Disposition", contentDisposition(e.Filename))
	h.Set("ETag", `"`+e.SHA256+`"`)
	h.Set(digestHeader, "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":")
	h.Set("Content-Security-Policy", h.Get("Content-Security-Policy")+"; sandbox")
	return nil
}

// conditionsOf returns a request with only the conditions and the range of r. A
// unit other than bytes must be ignored, several ranges at once may be, and a
// range has a meaning only with GET (RFC 9110, section 14.2) and only while
// If-Range is the ETag of the file (section 13.1.5; the library compares how
// the field begins): the answer is otherwise about the whole file.
func conditionsOf(r *http.Request, etag string) *http.Request {
	only := &http.Request{Method: r.Method, Header: http.Header{}}
	for _, name := range []string{"If-Match", "If-None-Match"} {
		if given := r.Header.Values(name); len(given) > 0 {
			only.Header.Set(name, strings.Join(given, ", "))
		}
	}
	given := r.Header.Values("Range")
	if r.Method != http.MethodGet || len(given) != 1 || strings.Contains(given[0], ",") {
		return only
	}
	if condition := r.Header.Get("If-Range"); condition != "" && condition != etag {
		return only
	}
	unit, ranges, _ := strings.Cut(given[0], "=")
	suffix, ofSuffix := strings.CutPrefix(strings.TrimSpace(ranges), "-")
	nothing := ofSuffix && suffix != "" && strings.Trim(suffix, "0") == "" // which the library would answer with an empty part
	if strings.EqualFold(strings.TrimSpace(unit), "bytes") && !nothing {
		only.Header.Set("Range", "bytes="+ranges)
	}
	return only
}

// fileContent is an artifact in the form that http.ServeContent needs. The
// archive is opened where reading begins, so that a part costs no more than
// itself.
type fileContent struct {
	open func(offset int64) (io.ReadCloser, error)
	size int64
	at   int64
	src  io.ReadCloser // reads from at; nil: not open
	err  error         // that opening or reading ended with
}

var errSeek = errors.New("a seek outside of the file or after its reading began")

// Seek sets where reading begins.
func (f *fileContent) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.size
	}
	if f.src != nil || offset < 0 || offset > f.size {
		f.err = errSeek
		return 0, errSeek
	}
	f.at = offset
	return offset, nil
}

// ready opens the archive.
func (f *fileContent) ready() error {
	if f.src == nil && f.err == nil {
		f.src, f.err = f.open(f.at)
	}
	return f.err
}

func (f *fileContent) Read(p []byte) (n int, err error) {
	if err := f.ready(); err != nil {
		return 0, err
	}
	n, err = f.src.Read(p)
	if f.at += int64(n); err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// Close closes the archive.
func (f *fileContent) Close() error {
	if f.src == nil {
		return nil
	}
	return f.src.Close()
}

// fileWriter lets http.ServeContent send a file, and nothing else: its answers
// for an unsatisfiable range or a failed condition are not sent, and nothing is
// sent before the archive has been opened.
type fileWriter struct {
	http.ResponseWriter
	content *fileContent
	began   bool
	refused int   // the status that was not sent
	err     error // of sending
}

func (w *fileWriter) WriteHeader(status int) {
	switch {
	case status >= 400:
		w.refused = status
		return
	case status == http.StatusNotModified:
		w.Header().Del("Content-Disposition") // which the client already has
		w.Header().Del(digestHeader)
	case w.content.ready() != nil:
		return
	}
	w.began = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *fileWriter) Write(p []byte) (n int, err error) {
	if !w.began {
		return 0, io.ErrClosedPipe
	}
	n, w.err = w.ResponseWriter.Write(p)
	return n, w.err
}

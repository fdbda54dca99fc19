package check

import (
	"bytes"
	"io"
	"net/http"
)

// Handler checks every exchange that a handler completes, whoever the client
// is, and reports those that break the contract. An exchange that the handler
// breaks off has no whole answer to check.
func Handler(next http.Handler, report func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent bytes.Buffer
		x := &Exchange{Method: r.Method, URL: r.URL, RequestHeader: r.Header.Clone()}
		if r.Body != nil {
			r.Body = &teeBody{r.Body, &sent}
		}
		rec := &recorder{ResponseWriter: w}
		next.ServeHTTP(rec, r)
		if rec.status == 0 { // nothing was written
			rec.status, rec.header = http.StatusOK, w.Header().Clone()
		}
		x.RequestBody, x.Status, x.Header, x.Body = sent.Bytes(), rec.status, rec.header, rec.body.Bytes()
		x.Trailer = w.Header()
		if err := x.Check(); err != nil {
			report(err)
		}
	})
}

// teeBody keeps what is read of a body.
type teeBody struct {
	io.ReadCloser
	kept *bytes.Buffer
}

func (b *teeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.kept.Write(p[:n])
	return n, err
}

// recorder keeps what is written. It flushes nothing and holds nothing back.
type recorder struct {
	http.ResponseWriter
	status int
	header http.Header // as it was sent
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status, r.header = status, r.Header().Clone()
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

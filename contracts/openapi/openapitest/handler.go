package openapitest

import (
	"bytes"
	"io"
	"net/http"
)

// Handler checks every exchange that a handler completes, whatever the client,
// and reports those that break the contract. An exchange that the handler aborts
// has no complete answer to check.
func Handler(next http.Handler, report func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent bytes.Buffer
		x := &Exchange{Method: r.Method, URL: r.URL, RequestHeader: r.Header.Clone()}
		if r.Body != nil {
			r.Body = &teeBody{r.Body, &sent}
		}
		rec := &recorder{ResponseWriter: w, x: x}
		next.ServeHTTP(rec, r)
		if x.Status == 0 { // nothing was written
			rec.begin(http.StatusOK)
		}
		x.RequestBody, x.Body, x.Trailer = sent.Bytes(), rec.kept.Bytes(), w.Header()
		if err := x.Check(); err != nil {
			report(err)
		}
	})
}

// teeBody keeps what is read from a body.
type teeBody struct {
	io.ReadCloser
	kept *bytes.Buffer
}

func (b *teeBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.kept.Write(p[:n])
	return n, err
}

// recorder passes what is written on to the exchange. It flushes nothing and
// holds nothing back.
type recorder struct {
	http.ResponseWriter
	x    *Exchange
	kept bytes.Buffer
	sink io.Writer
}

// begin records the header as it is sent.
func (r *recorder) begin(status int) {
	r.x.Status, r.x.Header = status, r.Header().Clone()
	r.sink = r.x.sink(&r.kept)
}

func (r *recorder) WriteHeader(status int) {
	if r.x.Status == 0 && status >= 200 {
		r.begin(status)
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.x.Status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	_, _ = r.sink.Write(p) // never fails
	return r.ResponseWriter.Write(p)
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

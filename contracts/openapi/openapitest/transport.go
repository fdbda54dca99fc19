package openapitest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// Transport checks every exchange of a client after it has read the answer to
// its end, and reports those that break the contract. An answer that breaks off,
// or that the client does not read to its end, is incomplete and not checked.
func Transport(next http.RoundTripper, report func(error)) http.RoundTripper {
	return transport{next, report}
}

type transport struct {
	next   http.RoundTripper
	report func(error)
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	x := &Exchange{Method: r.Method, URL: r.URL, RequestHeader: r.Header.Clone()}
	var sent bytes.Buffer
	if r.Body != nil {
		r = r.Clone(r.Context())
		r.Body = &teeBody{r.Body, &sent}
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	x.RequestBody, x.Status, x.Header = sent.Bytes(), resp.StatusCode, resp.Header
	body := &answerBody{ReadCloser: resp.Body}
	body.sink = x.sink(&body.kept)
	body.end = func() {
		x.Body, x.Trailer = body.kept.Bytes(), resp.Trailer
		if err := x.Check(); err != nil {
			t.report(err)
		}
	}
	resp.Body = body
	return resp, nil
}

// answerBody passes an answer to the exchange while it is read, and triggers the
// check at its end.
type answerBody struct {
	io.ReadCloser
	kept bytes.Buffer
	sink io.Writer
	end  func()
	over bool
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.sink.Write(p[:n]) // never fails
	if errors.Is(err, io.EOF) && !b.over {
		b.over = true
		b.end()
	}
	return n, err
}

package check

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// Transport checks every exchange of a client, once it has read the answer to
// its end, and reports those that break the contract. An answer that breaks,
// or that the client does not read to its end, is not whole and not checked.
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
	resp.Body = &answerBody{ReadCloser: resp.Body, end: func(body []byte) {
		x.Body, x.Trailer = body, resp.Trailer
		if err := x.Check(); err != nil {
			t.report(err)
		}
	}}
	return resp, nil
}

// answerBody keeps an answer and hands it over at its end.
type answerBody struct {
	io.ReadCloser
	kept bytes.Buffer
	end  func([]byte)
	over bool
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.kept.Write(p[:n])
	if errors.Is(err, io.EOF) && !b.over {
		b.over = true
		b.end(b.kept.Bytes())
	}
	return n, err
}

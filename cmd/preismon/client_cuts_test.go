package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/contracts"
	contract "preismon/contracts/openapi/check"
)

// cutStreams: what the service sends and the network cuts at random bytes is
// read once and in its order, by exchanges that keep the contract.
func (d *demoTest) cutStreams(t *testing.T, c *api) {
	_, params := past()
	to, err := time.Parse(time.RFC3339, params.Get("capturedTo"))
	must(t, err)
	params.Set("capturedFrom", to.Add(-24*time.Hour).Format(time.RFC3339)) // each cut is another read
	params.Set("site", "demo-markt-de.example")
	var want, got []string
	if _, _, err := c.stream("/v1/results/stream", params, func(line []byte) error {
		want = append(want, string(line))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	cuts := &cutTransport{next: contract.Transport(http.DefaultTransport, func(err error) { t.Error(err) }), most: 100_000}
	reader, err := client.New(client.Config{URL: d.up.URL, Token: contracts.Secret(c.token), Transport: cuts, Wait: func(context.Context, time.Duration) error { return nil }})
	must(t, err)
	err = reader.Results(t.Context(), client.Results{Params: params, Stream: true, Row: func(row []byte) error {
		got = append(got, string(row))
		return nil
	}})
	if err != nil || !slices.Equal(got, want) || cuts.n < 2 {
		t.Errorf("%d cuts: %d rows, the service has %d, or others: %v", cuts.n, len(got), len(want), err)
	}
	t.Logf("%d cuts in %d rows", cuts.n, len(want))
}

// cutTransport ends answers after a random number of bytes.
type cutTransport struct {
	next http.RoundTripper
	most int64
	n    int
}

func (c *cutTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK {
		resp.Body = &cutBody{resp.Body, rand.Int64N(c.most), c}
	}
	return resp, err
}

type cutBody struct {
	io.ReadCloser
	left int64
	by   *cutTransport
}

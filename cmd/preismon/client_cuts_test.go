package main

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/contracts"
	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/table/tabletest"
)

// cutStreams: what the service sends and the network cuts at random bytes is
// read once and in its order, by exchanges that keep the contract.
func (d *demoTest) cutStreams(t *testing.T, c *api) {
	_, params := past()
	to := must.Get(time.Parse(time.RFC3339, params.Get("capturedTo")))(t)
	params.Set("capturedFrom", to.Add(-time.Duration(effort.Often(6, 24))*time.Hour).Format(time.RFC3339)) // each cut is another read
	params.Set("site", "demo-markt-de.example")
	var want, got []string
	if _, _, err := c.stream("/v1/results/stream", params, func(line []byte) error {
		want = append(want, string(line))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	cuts := &cutTransport{next: openapitest.Transport(http.DefaultTransport, func(err error) { t.Error(err) }), size: int64(effort.Often(25_000, 100_000))}
	reader := must.Get(client.New(client.Config{URL: d.up.URL, Token: contracts.Secret(c.token), Transport: cuts, Wait: func(context.Context, time.Duration) error { return nil }}))(t)
	err := reader.Results(t.Context(), client.Results{Params: params, Stream: true, Row: func(row []byte) error {
		got = append(got, string(row))
		return nil
	}})
	if err != nil || !slices.Equal(got, want) || cuts.n < 2 {
		t.Errorf("%d cuts: %d rows, the service has %d, or others: %v", cuts.n, len(got), len(want), err)
	}
	t.Logf("%d cuts in %d rows", cuts.n, len(want))
	records := must.Get(tabletest.Lines([]byte(strings.Join(want, "\n"))))(t)
	for form, read := range map[string]func([]byte) ([]tabletest.Record, error){
		"csv":     func(b []byte) ([]tabletest.Record, error) { return tabletest.CSV(b, query.Include{}.Fields()) },
		"arrow":   func(b []byte) ([]tabletest.Record, error) { return tabletest.Arrow(b, time.UTC) },
		"parquet": func(b []byte) ([]tabletest.Record, error) { return tabletest.Parquet(b, time.UTC) },
	} {
		cuts.n, cuts.size = 0, int64(effort.Often(12_000, 20_000)) // they are smaller, but a cut within their head again and again is no progress
		var out bytes.Buffer
		export := exportCmd{fileFlags: fileFlags{Format: form}}
		n := must.Get(export.writeTo(t.Context(), streams{err: io.Discard}, nil, &remote{Client: reader, url: d.up.URL}, params, &out))(t)
		got, err := read(out.Bytes())
		if err != nil || !reflect.DeepEqual(records, got) || n != int64(len(want)) || cuts.n == 0 {
			t.Errorf("%s, %d cuts: %d rows, said to be %d, the service has %d, or others: %v", form, cuts.n, len(got), n, len(want), err)
		}
		t.Logf("%s: %d cuts", form, cuts.n)
	}
}

// cutTransport ends answers after a random number of bytes, at least half and at
// most one and a half times size.
type cutTransport struct {
	next http.RoundTripper
	size int64
	n    int
}

func (c *cutTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK {
		resp.Body = &cutBody{resp.Body, c.size/2 + rand.Int64N(c.size), c}
	}
	return resp, err
}

type cutBody struct {
	io.ReadCloser
	left int64
	by   *cutTransport
}

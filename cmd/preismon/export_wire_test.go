package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/contracts"
	contract "preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/must"
	"preismon/query/table/tabletest"
)

// exportedFromElsewhere: an export from another machine arrives in LZ4, and has
// the rows of one on this machine, which is not compressed.
func (d *demoTest) exportedFromElsewhere(t *testing.T, c *api) {
	_, params := past()
	params.Set("site", "demo-markt-de.example")
	params.Set("includeExportFields", "true")
	node := must.Get(url.Parse(d.up.URL))(t)
	dialed := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, node.Host)
	}}
	defer dialed.CloseIdleConnections()
	for form, read := range map[string]func([]byte, *time.Location) ([]tabletest.Record, error){"arrow": tabletest.Arrow, "parquet": tabletest.Parquet} {
		export := func(url string) ([]tabletest.Record, *sentTransport) {
			sent := &sentTransport{next: contract.Transport(dialed, func(err error) { t.Error(err) })}
			reader := must.Get(client.New(client.Config{URL: url, Token: contracts.Secret(c.token), Transport: sent}))(t)
			var out bytes.Buffer
			export := exportCmd{fileFlags: fileFlags{Format: form}}
			n := must.Get(export.writeTo(t.Context(), streams{err: io.Discard}, nil, &remote{Client: reader, url: url}, params, &out))(t)
			rows, err := read(out.Bytes(), time.UTC)
			if err != nil || n != int64(len(rows)) || n < 1_000 {
				t.Errorf("%s from %s: %d rows, said to be %d, %v", form, url, len(rows), n, err)
			}
			return rows, sent
		}
		want, plain := export(d.up.URL)
		got, packed := export("http://prices.example")
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s: %d rows, and uncompressed %d, or others", form, len(got), len(want))
		}
		for _, answers := range []struct {
			of   *sentTransport
			want bool
		}{{plain, false}, {packed, true}} {
			if len(answers.of.media) < 2 {
				t.Errorf("%s: answers %q", form, answers.of.media)
			}
			for _, media := range answers.of.media {
				if !strings.HasPrefix(media, "application/vnd.apache.arrow.stream") || strings.Contains(media, "compression=lz4") != answers.want {
					t.Errorf("%s: an answer is %s", form, media)
				}
			}
		}
		if packed.bytes > plain.bytes*3/4 {
			t.Errorf("%s: %d bytes are sent in LZ4, and %d without", form, packed.bytes, plain.bytes)
		}
		t.Logf("%s: %d rows, %d bytes in LZ4, %d without", form, len(want), packed.bytes, plain.bytes)
	}
}

// sentTransport notes which answers come.
type sentTransport struct {
	next  http.RoundTripper
	media []string
	bytes int64
}

func (s *sentTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(r)
	if err == nil {
		s.media = append(s.media, resp.Header.Get("Content-Type"))
		resp.Body = &sentBody{resp.Body, s}
	}
	return resp, err
}

type sentBody struct {
	io.ReadCloser
	of *sentTransport
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.bytes += int64(n)
	return n, err
}

package mcp

import (
	"bytes"
	"context"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/query"
	"preismon/query/wire"
)

// The address of a read of /ext/v1: its path and its query string, as in REST.
// It is not one of the published templates (RSRC-02).
const (
	extendedHost = "svc://ext"
	extendedBase = "/v1"
	extendedRead = extendedHost + extendedBase + "/{+read}"
)

// extended returns the reads of /ext/v1, each with the answer that REST gives.
// A wrong parameter is refused in the same words, which tell no more of what
// others see than they do there.
func extended(s *query.Service) Resource {
	reads := wire.Reads()
	return Resource{
		Template: &sdk.ResourceTemplate{URITemplate: extendedRead, Name: "read", Description: "A read of /ext/v1", MIMEType: jsonType},
		Unlisted: true, Heavy: true,
		Read: func(ctx context.Context, p query.Principal, uri string) ([]byte, error) {
			path, in, ok := extendedOf(uri)
			if !ok || reads[path] == nil {
				return nil, noResource()
			}
			answer, err := reads[path](ctx, s, p, in, nil)
			if err != nil {
				return nil, err
			}
			defer answer.Release()
			return recordsBody(ctx, s, answer)
		},
	}
}

// extendedOf returns the path in wire.Reads that an address names, and the
// parameters of the read.
func extendedOf(uri string) (path string, in *wire.Params, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Fragment != "" {
		return "", nil, false
	}
	path, ok = strings.CutPrefix(u.Path, extendedBase)
	in = wire.FromQuery(u.RawQuery)
	if parts := strings.Split(path, "/"); len(parts) == 4 && parts[1] == "items" {
		in.OfItem(parts[2])
		path = "/items/{itemId}/" + parts[3]
	}
	return path, in, ok
}

// recordsBody returns the JSON of an answer, with its texts made presentable.
func recordsBody(ctx context.Context, s *query.Service, answer *wire.Records) ([]byte, error) {
	pieces, err := answer.Body()
	if err != nil {
		return nil, err
	}
	size := 0
	for _, piece := range pieces {
		size += len(piece)
	}
	giveBack, err := s.Hold(ctx, int64(size))
	if err != nil {
		return nil, err
	}
	defer giveBack()
	return presentable(bytes.Join(pieces, nil))
}

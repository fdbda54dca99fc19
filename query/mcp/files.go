package mcp

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/contracts/plaintext"
	"preismon/query"
	"preismon/query/wire"
)

// fileLines is the address of lines of an archived file: its order and
// direction, when it was archived in milliseconds, its name and the range. It
// is not one of the published templates (RSRC-02); answers link to it.
const fileLines = "svc://orders/{orderId}/{files}/{archivedAt}/{+name}/{lines}"

// lastLine is the largest line that a range can name.
const lastLine = 999_999_999

// fileLink links to the lines after those of a part, as many again but at least
// 100.
func fileLink(e query.FileEntry, part wire.FilePart) *sdk.ResourceLink {
	next := strconv.Itoa(part.To+1) + "-" + strconv.Itoa(min(lastLine, part.To+max(100, part.To-part.From+1)))
	size := e.SizeBytes
	return &sdk.ResourceLink{
		URI: strings.Join([]string{
			"svc://orders", e.OrderID.String(), string(e.Direction) + "s", strconv.FormatInt(e.ArchivedAt.UnixMilli(), 10), url.PathEscape(e.Name), next,
		}, "/"),
		Name: plaintext.Clean(e.Filename, maxTextRunes), Description: "Lines " + next + "; any other range likewise", MIMEType: jsonType, Size: &size,
	}
}

// files returns the resource that fileLink links to.
func files(s *query.Service) Resource {
	return Resource{
		Template: &sdk.ResourceTemplate{URITemplate: fileLines, Name: "file", Description: "Lines of an archived file", MIMEType: jsonType},
		Unlisted: true, Heavy: true,
		Read: func(ctx context.Context, p query.Principal, uri string) ([]byte, error) {
			params, d, ok := fileOf(uri)
			if !ok {
				return nil, noResource()
			}
			arguments, err := wire.Marshal(params)
			if err != nil {
				return nil, err
			}
			req, part, err := wire.DecodeFilePart(wire.FromArguments(arguments), d)
			if err != nil {
				return nil, noResource()
			}
			found, err := s.Download(ctx, p, req)
			if namesNothing(err) {
				return nil, noResource()
			}
			if err != nil {
				return nil, err
			}
			e, err := excerptOf(ctx, s, found, part)
			if err != nil {
				return nil, err
			}
			return wire.Marshal(e)
		},
	}
}

// fileOf returns the arguments of a download that an address stands for.
func fileOf(uri string) (wire.Arguments, query.Direction, bool) {
	parts := strings.Split(strings.TrimPrefix(uri, "svc://orders/"), "/")
	if len(parts) != 5 {
		return nil, "", false
	}
	d := query.Direction(strings.TrimSuffix(parts[1], "s"))
	ms, wrong := strconv.ParseInt(parts[2], 10, 64)
	name, err := url.PathUnescape(parts[3])
	if err != nil || wrong != nil || parts[1] != string(d)+"s" || d != query.Exports && d != query.Imports {
		return nil, "", false
	}
	at := time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
	return wire.Arguments{"orderId": parts[0], "dateFrom": at, "dateTo": at, "name": name, "lines": parts[4]}, d, true
}

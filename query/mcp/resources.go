package mcp

import (
	"context"
	"errors"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/wire"
)

const jsonType = "application/json"

// resources returns the resources that can be read without calling a tool
// (RSRC-01, RSRC-02). They show what the tools show, by the same operations.
func resources(s *query.Service) []Resource {
	reference := func(name, about string, read bodyReader) Resource {
		return Resource{
			Descriptor: sdk.Resource{URI: "svc://reference/" + name, Name: name, Description: about, MIMEType: jsonType},
			Read: func(ctx context.Context, p query.Principal, _ string) ([]byte, error) {
				return read(ctx, s, p, wire.Arguments{})
			},
		}
	}
	single := func(folder, argument, about string, read bodyReader) Resource {
		prefix := "svc://" + folder + "/"
		return Resource{
			Template: &sdk.ResourceTemplate{
				URITemplate: prefix + "{" + argument + "}", Name: strings.TrimSuffix(folder, "s"), Description: about, MIMEType: jsonType,
			},
			Read: func(ctx context.Context, p query.Principal, uri string) ([]byte, error) {
				value, err := url.PathUnescape(strings.TrimPrefix(uri, prefix))
				if err != nil || value == "" {
					return nil, noResource()
				}
				body, err := read(ctx, s, p, wire.Arguments{argument: value})
				if namesNothing(err) {
					return nil, noResource()
				}
				return body, err
			},
		}
	}
	return []Resource{
		reference("sites", "The sites you see, all of them", allSites),
		reference("asin-locales", "The ASIN locale keys of your products", byArguments(wire.ASINLocales)),
		reference("results-contract", "What list_results can do: fields, filters, windows, limits", byArguments(wire.Capabilities)),
		single("sites", "site", "One site you see", first(wire.Sites)),
		single("orders", "orderId", "One monitoring order with its summaries", byArguments(wire.Order)),
		single("items", "itemId", "One product you see", first(wire.Items)),
		files(s), extended(s),
	}
}

// namesNothing reports whether a read failed because nothing that the caller
// sees has the value in the address, as if the value were not valid at all.
func namesNothing(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && (f.Kind == fault.NotFound || f.Kind == fault.Invalid && f.Code == query.CodeValidation)
}

// noResource returns the same error for what does not exist and for what only
// others see.
func noResource() error {
	return fault.New(fault.NotFound, wire.CodeNotFound, "There is no such resource that you may see.")
}

package wire

import (
	"cmp"
	"context"

	"preismon/contracts"
	"preismon/query"
)

// DecodeResults reads the parameters of a results read.
func DecodeResults(in *Params) (query.ResultsRequest, error) {
	req := results(in, func(query.Parameter) bool { return true })
	err := in.Err()
	if err == nil {
		return req, nil
	}
	if in.faulty("globalScope", "capturedFrom", "capturedTo") || in.unknown() {
		req.GlobalScope = false // the intended scope is not known
		req.Site = cmp.Or(req.Site, standInSite)
	}
	return req, in.named(req.Faults(err))
}

// Selected reads what every read over results has: its page and its selectors.
func Selected(in *Params) query.ResultsRequest {
	return results(in, func(p query.Parameter) bool { return p.Kind == query.PageParameter || selects(p) })
}

// selected reads only the selectors.
func selected(in *Params) query.ResultsRequest { return results(in, selects) }

func selects(p query.Parameter) bool { return p.Kind == query.SelectorParameter }

// results reads those parameters of results for which has reports true.
func results(in *Params, has func(query.Parameter) bool) (r query.ResultsRequest) {
	for _, p := range query.ResultsParameters {
		if has(p) {
			in.take(p.Name, p.Field(&r))
		}
	}
	return r
}

// take reads a parameter into a field, whose type determines how.
func (p *Params) take(name string, field any) {
	switch v := field.(type) {
	case **int:
		*v = p.limit()
	case **bool:
		*v = p.choice(name)
	case *bool:
		*v = p.flag(name)
	case *contracts.OrderID:
		*v = id[contracts.OrderID](p, name)
	case *contracts.ItemID:
		*v = id[contracts.ItemID](p, name)
	case *contracts.SiteKey:
		*v = p.site()
	case *string:
		if name == "cursor" {
			*v = p.cursor()
		} else {
			*v = p.text(name)
		}
	default:
		panic("wire: a parameter of another type: " + name)
	}
}

// ResultsBody returns the JSON object of a page, in pieces that are valid until
// its rows are released.
func ResultsBody(page *query.ResultsPage) ([][]byte, error) {
	paging, err := Marshal(page.Paging)
	if err != nil {
		return nil, err
	}
	echo, err := Marshal(page.Query)
	if err != nil {
		return nil, err
	}
	return [][]byte{[]byte(`{"data":[`), page.Rows.JSON(), []byte(`],"paging":`), paging, []byte(`,"query":`), echo, {'}'}}, nil
}

// Capabilities describes reads of results.
func Capabilities(ctx context.Context, s *query.Service, p query.Principal, in *Params) (any, error) {
	if err := in.Err(); err != nil {
		return nil, err
	}
	return s.Capabilities(ctx, p)
}

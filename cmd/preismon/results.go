package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"preismon/cmd/preismon/client"
	"preismon/cmd/preismon/records"
)

// resultFlags are the parameters of GET /v1/results, by their names: TestResultFlags
// compares them with query.ResultsParameters.
type resultFlags struct {
	Site                     string   `help:"One site, by its key." env:"-" placeholder:"KEY"`
	ItemID                   string   `name:"item-id" help:"One item, by its id." env:"-" placeholder:"ID"`
	Ean                      string   `help:"One item, by its EAN or GTIN." env:"-" placeholder:"DIGITS"`
	Pzn                      string   `help:"One item, by its Pharmazentralnummer." env:"-" placeholder:"DIGITS"`
	Asin                     string   `help:"One item, by its ASIN; needs --asin-locale." env:"-" placeholder:"ASIN"`
	AsinLocale               string   `help:"Marketplace locale of the ASIN, like de." env:"-" placeholder:"LOCALE"`
	OrderID                  string   `name:"order-id" help:"The pairs of one order." env:"-" placeholder:"ID"`
	GlobalScope              bool     `help:"Everything that you see; needs both bounds of the window." env:"-"`
	CapturedFrom             string   `aliases:"from" help:"Earliest capture time: RFC 3339, or a date. Also --from." env:"-" placeholder:"TIME"`
	CapturedTo               string   `aliases:"to" help:"Latest capture time: RFC 3339, or a date, which is included. Also --to." env:"-" placeholder:"TIME"`
	Timezone                 string   `help:"IANA zone of dates and of the times in the answer." env:"-" placeholder:"ZONE"`
	Sort                     string   `help:"By capture time: asc or desc." enum:",asc,desc" default:"" env:"-" placeholder:"ORDER"`
	Brand                    string   `help:"Only this brand." env:"-" placeholder:"TEXT"`
	Manufacturer             string   `help:"Only this manufacturer, as observed." env:"-" placeholder:"TEXT"`
	Merchant                 string   `help:"Only this merchant." env:"-" placeholder:"TEXT"`
	IsPrime                  string   `help:"Only rows in which this was observed as true, or as false." enum:",true,false" default:"" env:"-" placeholder:"BOOL"`
	IsBuyBox                 string   `help:"Only rows in which this was observed as true, or as false." enum:",true,false" default:"" env:"-" placeholder:"BOOL"`
	CoverageState            string   `help:"Only records of this state." env:"-" placeholder:"STATE"`
	LatestPerPair            bool     `help:"Only the newest record of each item at each site." env:"-"`
	LatestObservationPerPair bool     `help:"All records of the newest observation of each item at each site." env:"-"`
	Include                  []string `help:"Further fields: ${enum}." enum:"coverage,order-ids,customer-data,export-fields,identity" env:"-" placeholder:"GROUP"`
}

// includes are the parameters of the field groups.
var includes = map[string]string{
	"coverage": "includeCoverage", "order-ids": "includeOrderIds", "customer-data": "includeCustomerData",
	"export-fields": "includeExportFields", "identity": "includeIdentity",
}

// params returns the parameters for the flags that are given.
func (f *resultFlags) params() url.Values {
	p := parametersOf(*f)
	for _, group := range f.Include {
		p.Set(includes[group], "true")
	}
	return p
}

// parametersOf returns the flags that are given, by the names of their fields,
// without lists.
func parametersOf(flags any) url.Values {
	p := url.Values{}
	for field, value := range reflect.ValueOf(flags).Fields() {
		if value.Kind() != reflect.Slice && !value.IsZero() {
			p.Set(parameterOf(field.Name), fmt.Sprint(value))
		}
	}
	return p
}

// parameterOf returns the name of a parameter: itemId for the field ItemID.
func parameterOf(field string) string {
	return strings.ReplaceAll(strings.ToLower(field[:1])+field[1:], "ID", "Id")
}

// inOrder are the field groups in the order of the service's tables, so that its
// tables and those written here are the same bytes.
var inOrder = []string{"identity", "order-ids", "customer-data", "coverage", "export-fields"}

// fields returns the columns of a table: those that the server reports for the read.
func (f *resultFlags) fields(ctx context.Context, r *remote) ([]string, error) {
	can, err := r.Capabilities(ctx)
	if err != nil {
		return nil, r.explain(err)
	}
	all := slices.Clone(can.CoreFields)
	for _, group := range inOrder {
		if !slices.Contains(f.Include, group) {
			continue
		}
		for _, name := range can.IncludeGroups[includes[group]] {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all, nil
}

type resultsCmd struct {
	Remote remoteFlags `embed:""`
	formatFlag
	resultFlags
	Limit int64 `help:"Stop after this many rows; 0: all." env:"-" default:"0" placeholder:"N"`
}

func (c *resultsCmd) Run(ctx context.Context, std streams) error {
	r, err := c.Remote.connect(std)
	if err != nil {
		return err
	}
	var fields []string
	if c.Format == "csv" {
		if fields, err = c.fields(ctx, r); err != nil {
			return err
		}
	}
	count := counted{Writer: c.writer(std, fields)}
	if err := r.write(ctx, client.Results{Params: c.params(), Most: c.Limit}, &count); err != nil || count.n > 0 {
		return err
	}
	r.explainNoRows(ctx, std, c.params())
	return nil
}

// explainNoRows tells a user who got no rows which window was read, and where rows
// are. What cannot be found out is left out: the answer has been given.
func (r *remote) explainNoRows(ctx context.Context, std streams, params url.Values) {
	asked, err := r.Covered(ctx, params)
	if err != nil {
		return
	}
	fmt.Fprintf(std.err, "Nothing was captured from %s to %s.\n", cmp.Or(asked.From, "the beginning"), cmp.Or(asked.To, "now"))
	site, newest, err := r.newest(ctx, params)
	switch {
	case err != nil:
	case newest == "":
		fmt.Fprintln(std.err, "Nor at any other time, for what you see.")
	case site != "":
		fmt.Fprintf(std.err, "The newest capture is of %s, at %s: try --site %s --from %.10s\n", newest, site, quoteShell(site), newest)
	default:
		fmt.Fprintf(std.err, "The newest row is of %s: try --from %.10s\n", newest, newest)
	}
}

// newest returns the capture time of the newest row for the same parameters in
// any window. If they select neither a site, a product nor an order, everything
// the caller sees would be too much to search: then it returns the newest
// capture at any site, and that site.
func (r *remote) newest(ctx context.Context, params url.Values) (site, newest string, err error) {
	for _, name := range []string{"site", "itemId", "ean", "pzn", "asin", "orderId"} {
		if params.Has(name) {
			newest, err = r.Newest(ctx, params)
			return "", newest, err
		}
	}
	all, err := r.SiteStatus(ctx, nil)
	if err != nil {
		return "", "", err
	}
	for _, s := range all.Data {
		if s.LastCapturedAt != nil && *s.LastCapturedAt > newest { // all in UTC
			site, newest = s.Site, *s.LastCapturedAt
		}
	}
	return site, newest, nil
}

type streamCmd struct {
	Remote remoteFlags `embed:""`
	resultFlags
}

func (c *streamCmd) Run(ctx context.Context, std streams) error {
	r, err := c.Remote.connect(std)
	if err != nil {
		return err
	}
	count := counted{Writer: records.NDJSON(std.out)}
	if err := r.write(ctx, client.Results{Params: c.params(), Stream: true}, &count); err != nil || count.n > 0 {
		return err
	}
	r.explainNoRows(ctx, std, c.params())
	return nil
}

// write writes all rows of a read.
func (r *remote) write(ctx context.Context, read client.Results, out records.Writer) error {
	read.Row = out.Write
	if err := r.Results(ctx, read); err != nil {
		return errors.Join(r.explain(err), out.Flush()) // no incomplete table looks complete
	}
	return out.Close()
}

// errIncomplete marks an incomplete answer.
var errIncomplete = errors.New("the answer is incomplete")

// incomplete reports whether an error left part of an answer behind.
func incomplete(err error) bool {
	return errors.Is(err, errIncomplete) || errors.As(err, new(*client.Incomplete))
}

// rowsWritten returns the message at the end of an export.
func rowsWritten(n int64, to string) string {
	return fmt.Sprintf("%s in %s.", plural(n, "row"), to)
}

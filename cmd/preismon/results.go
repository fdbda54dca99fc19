package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/cmd/preismon/records"
)

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
	remoteFlags
	formatFlag
	resultFlags
	Limit int64 `help:"Stop after this many rows; 0: all." env:"-" default:"0" placeholder:"N"`
}

func (c *resultsCmd) Run(ctx context.Context, std streams, r *remote) error {
	var fields []string
	if c.Format == "csv" {
		var err error
		if fields, err = c.fields(ctx, r); err != nil {
			return err
		}
	}
	return r.rows(ctx, std, client.Results{Params: c.params(), Most: c.Limit}, c.writer(std, fields))
}

// explainNoRows tells a user who got no rows which window was read, and where rows
// are. What cannot be found out is left out: the answer has been given.
func (r *remote) explainNoRows(ctx context.Context, std streams, params url.Values) {
	covered, err := r.Covered(ctx, params)
	if err != nil {
		return
	}
	fmt.Fprintf(std.err, "Nothing was captured from %s to %s.\n", cmp.Or(covered.From, "the beginning"), cmp.Or(covered.To, "now"))
	site, newest, err := r.newest(ctx, params)
	switch {
	case err != nil:
	case newest == "":
		fmt.Fprintln(std.err, "Nor at any other time, as far as you can see.")
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
	if slices.ContainsFunc([]string{"site", "itemId", "ean", "pzn", "asin", "orderId"}, params.Has) {
		newest, err = r.Newest(ctx, params)
		return "", newest, err
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
	remoteFlags
	resultFlags
}

func (c *streamCmd) Run(ctx context.Context, std streams, r *remote) error {
	return r.rows(ctx, std, client.Results{Params: c.params(), Stream: true}, records.NDJSON(std.out))
}

// rows writes all rows of a read, or tells a user where there are some.
func (r *remote) rows(ctx context.Context, std streams, read client.Results, out records.Writer) error {
	var count counted
	read.Passed = count.passed
	if err := r.write(ctx, read, out); err != nil || count.n > 0 {
		return err
	}
	r.explainNoRows(ctx, std, read.Params)
	return nil
}

// write writes all rows of a read.
func (r *remote) write(ctx context.Context, read client.Results, out records.Writer) error {
	read.Row = out.Write
	return r.read(ctx, read, out)
}

// output is what the rows of a read are written to.
type output interface {
	Flush() error // writes what is held back
	Close() error // the same, and the end
}

// read reads all rows of a read, which go to out.
func (r *remote) read(ctx context.Context, read client.Results, out output) error {
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

// windowWritten returns what the message says about the window of the rows; empty:
// there are none, or it cannot be found out.
func (r *remote) windowWritten(ctx context.Context, n int64, params url.Values) string {
	if n == 0 {
		return ""
	}
	covered, err := r.Covered(ctx, params)
	if err != nil || covered == (client.Window{}) {
		return ""
	}
	given, ended := params.Has("capturedFrom"), params.Has("capturedTo")
	from, fromErr := time.Parse(time.RFC3339, covered.From)
	to, toErr := time.Parse(time.RFC3339, covered.To)
	switch {
	case !given && !ended && fromErr == nil && toErr == nil: // that of the rows ended a moment before this one
		return fmt.Sprintf(", captured in the last %s; --from takes an earlier beginning", plural(int64(to.Sub(from)/time.Hour), "hour"))
	case !ended:
		return ", captured since " + cmp.Or(covered.From, "the beginning")
	}
	return fmt.Sprintf(", captured from %s to %s", cmp.Or(covered.From, "the beginning"), cmp.Or(covered.To, "now"))
}

// rowsWritten returns the message at the end of an export.
func rowsWritten(n int64, to string) string {
	return fmt.Sprintf("%s in %s.", plural(n, "row"), to)
}

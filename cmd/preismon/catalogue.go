package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"slices"
	"strconv"

	"preismon/cmd/preismon/records"
)

// siteFields and orderFields are the columns of their CSV files.
var (
	siteFields  = []string{"site", "name", "siteType", "countryCode", "currencyCode", "canonicalCountryMarket"}
	orderFields = []string{"orderId", "alias", "name", "active", "createdAt"}
	// coverageFields are added with --coverage.
	coverageFields = []string{"coverage.configuredPairs", "coverage.observedPairs", "coverage.ratio", "health"}
	// monitoringFields are added with --monitoring, and for a single order.
	monitoringFields = []string{"monitoring.sites", "monitoring.intervalMinutes", "monitoring.lastRunAt", "monitoring.nextRunAt"}
	fileFields       = map[string][]string{
		"exports": {"name", "exportName", "filename", "contentType", "sizeBytes", "archivedAt"},
		"imports": {"name", "filename", "contentType", "sizeBytes", "archivedAt"},
	}
)

type sitesCmd struct {
	remoteFlags
	listFlags
}

func (c *sitesCmd) Run(ctx context.Context, std streams, r *remote) error {
	return r.list(ctx, c.Limit, "/v1/sites", nil, c.writer(std, siteFields))
}

type ordersCmd struct {
	remoteFlags
	listFlags
	Order             string `arg:"" optional:"" help:"Id of an order: only this one, with the outcomes of its pairs."`
	Alias             string `help:"Only the order with this alias." env:"-" placeholder:"TEXT"`
	IncludeCoverage   bool   `name:"coverage" help:"Add how well each order is observed." env:"-"`
	IncludeMonitoring bool   `name:"monitoring" help:"Add which sites each order monitors, and when." env:"-"`
}

func (c *ordersCmd) Run(ctx context.Context, std streams, r *remote) error {
	if c.Order != "" {
		return c.one(ctx, std, r)
	}
	fields := orderFields
	if c.IncludeCoverage {
		fields = slices.Concat(fields, coverageFields)
	}
	if c.IncludeMonitoring {
		fields = slices.Concat(fields, monitoringFields)
	}
	return r.list(ctx, c.Limit, "/v1/orders", parametersOf(*c), c.writer(std, fields))
}

// one writes one order, with everything that is known about it.
func (c *ordersCmd) one(ctx context.Context, std streams, r *remote) error {
	order, err := r.Order(ctx, c.Order)
	return r.writeList(func(yield func(json.RawMessage, error) bool) { yield(order, err) }, c.writer(std, slices.Concat(orderFields, coverageFields, monitoringFields)))
}

// listFlags select how much of a list is written, and in which form.
type listFlags struct {
	formatFlag
	Limit int `help:"Stop after this many records; 0: all." env:"-" default:"0" placeholder:"N"`
}

// list writes the first records of a list, across its pages; limit 0: all.
func (r *remote) list(ctx context.Context, limit int, path string, params url.Values, out records.Writer) error {
	if most, _ := strconv.Atoi(params.Get("limit")); limit > 0 && limit < most {
		params.Set("limit", strconv.Itoa(limit)) // no page is larger than what is wanted
	}
	return r.writeList(firstOf(r.List(ctx, path, params), limit), out)
}

// firstOf returns the first n records; 0: all.
func firstOf(rows iter.Seq2[json.RawMessage, error], n int) iter.Seq2[json.RawMessage, error] {
	if n <= 0 {
		return rows
	}
	return func(yield func(json.RawMessage, error) bool) {
		given := 0
		for row, err := range rows {
			if given++; !yield(row, err) || given == n {
				return
			}
		}
	}
}

// writeList writes the rows of a list. If it breaks off, the error marks it as
// incomplete.
func (r *remote) writeList(rows iter.Seq2[json.RawMessage, error], out records.Writer) error {
	written := 0
	for row, err := range rows {
		if err != nil {
			err = r.explain(err)
			if written > 0 {
				err = errors.Join(errIncomplete, err)
			}
			return errors.Join(err, out.Flush())
		}
		if err := out.Write(row); err != nil {
			return err
		}
		written++
	}
	return out.Close()
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/ingest"

	"github.com/alecthomas/kong"
)

type catalogueSitesCmd struct {
	List   catalogueSitesListCmd   `cmd:"" help:"List all sites."`
	Show   catalogueSitesShowCmd   `cmd:"" help:"Show a site: its name, kind, country, currency and operator."`
	Add    catalogueSitesAddCmd    `cmd:"" help:"Add a site."`
	Change catalogueSitesChangeCmd `cmd:"" help:"Change a site's name, type, country, currency or operator."`
}

type catalogueSitesListCmd struct {
	catalogueBus `embed:""`
}

func (c *catalogueSitesListCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return listRecords(ctx, c.catalogueBus, k, std, log, recordList[contracts.Site]{
		all: ingest.Sites, by: func(s *contracts.Site) string { return string(s.Site) },
		columns: []string{"site", "name", "type", "country", "currency", "operator"}, none: "No sites.",
		row: func(s *contracts.Site) []any {
			return []any{s.Site, s.Name, s.SiteType, s.CountryCode, s.CurrencyCode, orNone(s.Operator)}
		},
	})
}

type catalogueSitesShowCmd struct {
	catalogueBus `embed:""`
	Site         string `arg:"" help:"Key of the site."`
}

func (c *catalogueSitesShowCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return showRecord(ctx, c.catalogueBus, k, std, log, knownSite, c.Site, siteLines)
}

// siteRecordFlags are the fields of a site. Fields that are not given stay.
type siteRecordFlags struct {
	Name     string `help:"Its name for people. A new site without one is named by its key." env:"-" placeholder:"TEXT"`
	Type     string `help:"shop, marketplace or platform. A new site without one is a shop." env:"-" placeholder:"TYPE"`
	Country  string `help:"Its country, like DE." env:"-" placeholder:"CODE"`
	Currency string `help:"The usual currency of its prices, like EUR." env:"-" placeholder:"CODE"`
	Operator string `help:"The company behind it and other sites." env:"-" placeholder:"TEXT"`
}

// apply changes the site according to the flags.
func (f siteRecordFlags) apply(s *contracts.Site) error {
	set := func(to *string, value string) {
		if value != "" {
			*to = value
		}
	}
	set(&s.Name, f.Name)
	set((*string)(&s.SiteType), f.Type)
	set(&s.CountryCode, f.Country)
	set((*string)(&s.CurrencyCode), f.Currency)
	set(&s.Operator, f.Operator)
	return faulty(s.Validate())
}

type catalogueSitesAddCmd struct {
	catalogueChange `embed:""`
	Key             string          `arg:"" name:"site" help:"Key of the site: its host name, as a rule."`
	Site            siteRecordFlags `embed:""`
}

func (c *catalogueSitesAddCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return c.change(ctx, k, std, log, func(b *bus) (*changePlan, error) {
		all, err := ingest.Sites(ctx, b.js)
		if err != nil {
			return nil, err
		}
		after := &contracts.Site{Site: contracts.SiteKey(c.Key), Name: c.Key, SiteType: contracts.Shop}
		if slices.ContainsFunc(all, func(s *contracts.Site) bool { return s.Site == after.Site }) {
			return nil, fmt.Errorf("the site %s already exists; `preismon catalogue sites change %s` changes it", after.Site, after.Site)
		}
		return sitePlan(nil, after), c.Site.apply(after)
	})
}

type catalogueSitesChangeCmd struct {
	catalogueChange `embed:""`
	Key             string          `arg:"" name:"site" help:"Key of the site."`
	Site            siteRecordFlags `embed:""`
}

func (c *catalogueSitesChangeCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return c.change(ctx, k, std, log, func(b *bus) (*changePlan, error) {
		before, err := knownSite(ctx, b, c.Key)
		if err != nil {
			return nil, err
		}
		after := *before
		if err := c.Site.apply(&after); err != nil {
			return nil, err
		}
		if after == *before {
			return nil, errors.New("nothing would change: the site already has these values")
		}
		return sitePlan(before, &after), nil
	})
}

// sitePlan returns the change of a site; before is nil if it is new.
func sitePlan(before, after *contracts.Site) *changePlan {
	done := fmt.Sprintf("site %s: %s", after.Site, after.Name)
	return &changePlan{show: recordShown(siteLines, before, after), kind: event.KindSite, record: after, done: done}
}

var siteLines = []recordLine[contracts.Site]{
	{"site", func(s *contracts.Site) string { return string(s.Site) }},
	{"name", func(s *contracts.Site) string { return printable(s.Name, "") }},
	{"type", func(s *contracts.Site) string { return string(s.SiteType) }},
	{"country", func(s *contracts.Site) string { return s.CountryCode }},
	{"currency", func(s *contracts.Site) string { return string(s.CurrencyCode) }},
	{"operator", func(s *contracts.Site) string { return orNone(s.Operator) }},
}

// orNone returns an optional text for people.
func orNone(text string) string { return cmp.Or(printable(text, ""), "none") }

// knownSite returns a site by its key.
func knownSite(ctx context.Context, b *bus, key string) (*contracts.Site, error) {
	all, err := ingest.Sites(ctx, b.js)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(s *contracts.Site) bool { return string(s.Site) == key })
	if i < 0 {
		return nil, fmt.Errorf("there is no site %q; `preismon catalogue sites list` lists them", key)
	}
	return all[i], nil
}

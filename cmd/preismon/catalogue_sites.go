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
	return listRecords(ctx, c.catalogueBus, k, std, log, siteKind)
}

type catalogueSitesShowCmd struct {
	catalogueBus `embed:""`
	Site         string `arg:"" help:"Key of the site."`
}

func (c *catalogueSitesShowCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return showRecord(ctx, c.catalogueBus, k, std, log, siteKind, c.Site)
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
	s.Name = cmp.Or(f.Name, s.Name)
	s.SiteType = cmp.Or(contracts.SiteType(f.Type), s.SiteType)
	s.CountryCode = cmp.Or(f.Country, s.CountryCode)
	s.CurrencyCode = cmp.Or(contracts.Currency(f.Currency), s.CurrencyCode)
	s.Operator = cmp.Or(f.Operator, s.Operator)
	return faulty(s.Validate())
}

type catalogueSitesAddCmd struct {
	catalogueChange `embed:""`
	Key             string          `arg:"" name:"site" help:"Key of the site: its host name, as a rule."`
	Site            siteRecordFlags `embed:""`
}

func (c *catalogueSitesAddCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return change(ctx, &c.catalogueChange, k, std, log, siteKind, nil, func(b *bus, s *contracts.Site) error {
		all, err := ingest.Sites(ctx, b.js)
		if err != nil {
			return err
		}
		*s = contracts.Site{Site: contracts.SiteKey(c.Key), Name: c.Key, SiteType: contracts.Shop}
		if slices.ContainsFunc(all, func(known *contracts.Site) bool { return known.Site == s.Site }) {
			return fmt.Errorf("the site %s already exists; `preismon catalogue sites change %s` changes it", s.Site, s.Site)
		}
		return c.Site.apply(s)
	})
}

type catalogueSitesChangeCmd struct {
	catalogueChange `embed:""`
	Key             string          `arg:"" name:"site" help:"Key of the site."`
	Site            siteRecordFlags `embed:""`
}

func (c *catalogueSitesChangeCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return change(ctx, &c.catalogueChange, k, std, log, siteKind, &c.Key, func(_ *bus, s *contracts.Site) error {
		before := *s
		if err := c.Site.apply(s); err != nil {
			return err
		}
		if *s == before {
			return errors.New("nothing would change: the site already has these values")
		}
		return nil
	})
}

var siteKind = recordKind[contracts.Site]{
	kind: event.KindSite, find: knownSite, all: ingest.Sites, by: func(s *contracts.Site) string { return string(s.Site) },
	columns: []string{"site", "name", "type", "country", "currency", "operator"}, none: "No sites.",
	row: func(s *contracts.Site) []any {
		return []any{s.Site, s.Name, s.SiteType, s.CountryCode, s.CurrencyCode, orNone(s.Operator)}
	},
	lines: []recordLine[contracts.Site]{
		{"site", func(s *contracts.Site) string { return string(s.Site) }},
		{"name", func(s *contracts.Site) string { return printable(s.Name, "") }},
		{"type", func(s *contracts.Site) string { return string(s.SiteType) }},
		{"country", func(s *contracts.Site) string { return s.CountryCode }},
		{"currency", func(s *contracts.Site) string { return string(s.CurrencyCode) }},
		{"operator", func(s *contracts.Site) string { return orNone(s.Operator) }},
	},
	done: func(s *contracts.Site) string { return fmt.Sprintf("site %s: %s", s.Site, s.Name) },
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

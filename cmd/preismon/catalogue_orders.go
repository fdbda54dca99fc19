package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/ingest"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"
)

type catalogueOrdersCmd struct {
	List   catalogueOrdersListCmd   `cmd:"" help:"List the orders of all mandates."`
	Show   catalogueOrdersShowCmd   `cmd:"" help:"Show an order: its mandate, sites, number of items and schedule."`
	Add    catalogueOrdersAddCmd    `cmd:"" help:"Add an order to a mandate."`
	Change catalogueOrdersChangeCmd `cmd:"" help:"Change an order's name, alias, schedule, items or sites."`
	Pause  catalogueOrdersPauseCmd  `cmd:"" help:"Pause an order, or resume it."`
}

type catalogueOrdersListCmd struct {
	catalogueBus `embed:""`
}

func (c *catalogueOrdersListCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return listRecords(ctx, c.catalogueBus, k, std, log, orderKind)
}

type catalogueOrdersShowCmd struct {
	catalogueBus `embed:""`
	Order        string `arg:"" help:"Id of the order."`
}

func (c *catalogueOrdersShowCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return showRecord(ctx, c.catalogueBus, k, std, log, orderKind, c.Order)
}

// orderFlags are what an order monitors, and how often. Fields that are not given stay.
type orderFlags struct {
	Alias    string   `help:"A short name of the order, for programs." env:"-" placeholder:"TEXT"`
	Every    int      `help:"Minutes from one capture of a pair to the next." env:"-" placeholder:"MINUTES"`
	AddItems []string `help:"Items to add, by id or EAN; @FILE: one on each line." env:"-" placeholder:"ITEM,..."`
	AddSites []string `help:"Sites to add." env:"-" placeholder:"SITE,..."`
}

// orderRemovals are what an order no longer monitors.
type orderRemovals struct {
	RemoveItems []string `help:"Items to remove, by id or EAN; @FILE: one on each line." env:"-" placeholder:"ITEM,..."`
	RemoveSites []string `help:"Sites to remove." env:"-" placeholder:"SITE,..."`
}

// apply changes the order according to the flags. Items and sites must be in the
// catalogue.
func (f *orderFlags) apply(ctx context.Context, b *bus, o *contracts.Order, gone orderRemovals) error {
	o.Alias = cmp.Or(f.Alias, o.Alias)
	if f.Every != 0 {
		changed := contracts.Schedule{}
		if o.Schedule != nil {
			changed = *o.Schedule
		}
		changed.IntervalMinutes = f.Every
		o.Schedule = &changed
	}
	add, errAdd := itemsOf(ctx, b, "add-items", f.AddItems)
	remove, errRemove := itemsOf(ctx, b, "remove-items", gone.RemoveItems)
	known, err := ingest.Sites(ctx, b.js)
	if err != nil {
		return err
	}
	addSites, errSites := sitesOf(known, "add-sites", f.AddSites)
	removeSites, errGone := sitesOf(known, "remove-sites", gone.RemoveSites)
	if err := errors.Join(errAdd, errRemove, errSites, errGone); err != nil {
		return err
	}
	o.Items = changedSet(o.Items, add, remove)
	o.Sites = changedSet(o.Sites, addSites, removeSites)
	return faulty(o.Validate())
}

type catalogueOrdersAddCmd struct {
	catalogueChange `embed:""`
	Name            string     `arg:"" help:"Name of the order, for people."`
	Mandate         string     `help:"Its mandate, by name or id; it must exist." required:"" placeholder:"NAME"`
	Order           orderFlags `embed:""`
}

func (c *catalogueOrdersAddCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return change(ctx, &c.catalogueChange, k, std, log, orderKind, nil, func(b *bus, o *contracts.Order) error {
		mandate, err := mandateOf(ctx, b, c.Mandate)
		if err != nil {
			return err
		}
		*o = contracts.Order{
			OrderID: contracts.DeriveID[contracts.OrderID]("order", uuid.NewString()), MandateID: mandate.MandateID,
			Name: c.Name, Active: true, CreatedAt: time.Now().UTC().Truncate(time.Millisecond),
		}
		return c.Order.apply(ctx, b, o, orderRemovals{})
	})
}

type catalogueOrdersChangeCmd struct {
	catalogueChange `embed:""`
	ID              string        `arg:"" name:"order" help:"Id of the order."`
	Name            string        `help:"Its name." env:"-" placeholder:"TEXT"`
	Order           orderFlags    `embed:""`
	Gone            orderRemovals `embed:""`
}

func (c *catalogueOrdersChangeCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return change(ctx, &c.catalogueChange, k, std, log, orderKind, &c.ID, func(b *bus, o *contracts.Order) error {
		before := *o
		o.Name = cmp.Or(c.Name, o.Name)
		if err := c.Order.apply(ctx, b, o, c.Gone); err != nil {
			return err
		}
		if reflect.DeepEqual(before, *o) {
			return errors.New("nothing would change: the order already has these values")
		}
		return nil
	})
}

type catalogueOrdersPauseCmd struct {
	catalogueChange `embed:""`
	Order           string `arg:"" help:"Id of the order."`
	Undo            bool   `help:"Resume it." env:"-"`
}

func (c *catalogueOrdersPauseCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return change(ctx, &c.catalogueChange, k, std, log, orderKind, &c.Order, func(_ *bus, o *contracts.Order) error {
		if o.Active == c.Undo {
			return fmt.Errorf("order %d is already %s", o.OrderID, orderState(o))
		}
		o.Active = c.Undo
		return nil
	})
}

var orderKind = recordKind[contracts.Order]{
	kind: event.KindOrder, find: orderOf, all: ingest.Orders, by: func(o *contracts.Order) string { return o.Name },
	columns: []string{"order", "name", "mandate", "items", "sites", "state"}, none: "No orders.",
	row: func(o *contracts.Order) []any {
		return []any{o.OrderID, o.Name, o.MandateID, len(o.Items), len(o.Sites), orderState(o)}
	},
	lines: []recordLine[contracts.Order]{
		{"order", func(o *contracts.Order) string { return o.OrderID.String() }},
		{"name", func(o *contracts.Order) string { return printable(o.Name, "") }},
		{"alias", func(o *contracts.Order) string { return orNone(o.Alias) }},
		{"mandate", func(o *contracts.Order) string { return o.MandateID.String() }},
		{"state", orderState},
		{"captures", func(o *contracts.Order) string {
			if o.Schedule == nil {
				return "no schedule"
			}
			return fmt.Sprintf("every %d minutes", o.Schedule.IntervalMinutes)
		}},
		{"items", func(o *contracts.Order) string { return thousands(len(o.Items)) }},
		{"sites", func(o *contracts.Order) string { return namesOf(o.Sites, false) }},
		{"pairs", func(o *contracts.Order) string { return thousands(len(o.Items) * len(o.Sites)) }},
	},
	done: func(o *contracts.Order) string {
		return fmt.Sprintf("order %d of mandate %d: %s", o.OrderID, o.MandateID, orderState(o))
	},
}

func orderState(o *contracts.Order) string {
	if o.Active {
		return "active"
	}
	return "paused"
}

// orderOf returns an order by its id.
func orderOf(ctx context.Context, b *bus, text string) (*contracts.Order, error) {
	id, err := contracts.ParseID[contracts.OrderID](text)
	if err != nil {
		return nil, faulty(fmt.Errorf("order: %w", err))
	}
	all, err := ingest.Orders(ctx, b.js)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(o *contracts.Order) bool { return o.OrderID != id })
	switch len(all) {
	case 0:
		return nil, fmt.Errorf("there is no order %d; `preismon catalogue orders list` lists them", id)
	case 1:
		return all[0], nil
	}
	return nil, fmt.Errorf("the id %d belongs to orders of several mandates, %d and %d among them: publish them with ids of their own", id, all[0].MandateID, all[1].MandateID)
}

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/ingest"

	"github.com/alecthomas/kong"
)

// seesFlags are what an account may read, and of which sites and orders. What is
// not given stays.
type seesFlags struct {
	Permissions []contracts.Permission `help:"What it may read: ${enum}." enum:"sites,items,orders,results,files" env:"-" placeholder:"AREA,..."`
	Sites       []contracts.SiteKey    `help:"The sites that it sees; all: all of its mandate." env:"-" placeholder:"SITE,..."`
	Orders      []string               `help:"The orders that it sees, by id; all: all of its mandate." env:"-" placeholder:"ID,..."`
}

// apply changes the account according to the flags.
func (f seesFlags) apply(a *contracts.Account) error {
	if len(f.Permissions) > 0 {
		a.Permissions = f.Permissions
	}
	if len(f.Sites) > 0 {
		a.Scope.AllSites, a.Scope.Sites = false, f.Sites
		if slices.Equal(f.Sites, []contracts.SiteKey{"all"}) {
			a.Scope.AllSites, a.Scope.Sites = true, nil
		}
	}
	if len(f.Orders) > 0 {
		a.Scope.AllOrders, a.Scope.Orders = slices.Equal(f.Orders, []string{"all"}), nil
		for _, text := range f.Orders {
			if a.Scope.AllOrders {
				break
			}
			id, err := contracts.ParseID[contracts.OrderID](text)
			if err != nil {
				return faulty(fmt.Errorf("orders: %w", err))
			}
			a.Scope.Orders = append(a.Scope.Orders, id)
		}
	}
	return faulty(a.Validate())
}

// accountChange is what the commands that change an account share.
type accountChange struct {
	catalogueChange `embed:""`
	Login           string `arg:"" help:"Login of the account."`
}

// newPassword is like the function of that name, except that a dry run does not
// prompt: it uses a random password that no one knows.
func (c *accountChange) newPassword(ctx context.Context, std streams, password secret, login string) (string, error) {
	if c.Plan.DryRun && password.Secret == "" {
		password.Secret = contracts.Secret(rand.Text())
	}
	return newPassword(ctx, std, password.Secret, login)
}

type accountsAddCmd struct {
	accountChange `embed:""`
	Mandate       string    `help:"Its mandate, by name or id; it must exist." required:"" placeholder:"NAME"`
	Sees          seesFlags `embed:""`
	Password      secret    `help:"Its password, at least 12 characters; asked for on a terminal when missing." placeholder:"PASSWORD"`
}

func (c *accountsAddCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return change(ctx, &c.catalogueChange, k, std, log, accountKind, nil, func(b *bus, a *contracts.Account) error {
		login := strings.ToLower(strings.TrimSpace(c.Login))
		known, err := accountOf(ctx, b, login)
		if err != nil {
			return err
		}
		mandate, err := mandateOf(ctx, b, c.Mandate)
		if err != nil {
			return err
		}
		switch {
		case known != nil && !known.Disabled:
			return &ingest.LoginTakenError{Login: known.LoginIdentifier, By: known.AccountID, Of: known.MandateID}
		case known != nil && known.MandateID == mandate.MandateID:
			return fmt.Errorf("%q exists, but is disabled; `preismon accounts disable --undo %s` enables it again", login, login)
		}
		*a = contracts.Account{
			AccountID: contracts.DeriveID[contracts.AccountID]("account", mandate.Name, login), MandateID: mandate.MandateID, LoginIdentifier: login,
			Permissions: contracts.Permissions(), Scope: contracts.AccountScope{AllOrders: true, AllSites: true},
		}
		a.PasswordHash, err = c.newPassword(ctx, std, c.Password, login)
		return errors.Join(err, c.Sees.apply(a))
	})
}

type accountsGrantCmd struct {
	accountChange `embed:""`
	Sees          seesFlags `embed:""`
}

func (c *accountsGrantCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return change(ctx, &c.catalogueChange, k, std, log, accountKind, &c.Login, func(_ *bus, a *contracts.Account) error {
		if len(c.Sees.Permissions)+len(c.Sees.Sites)+len(c.Sees.Orders) == 0 {
			return faulty(errors.New("permissions, sites, orders: missing; give at least one of them"))
		}
		return c.Sees.apply(a)
	})
}

type accountsDisableCmd struct {
	accountChange `embed:""`
	Undo          bool `help:"Enable it again." env:"-"`
}

func (c *accountsDisableCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return change(ctx, &c.catalogueChange, k, std, log, accountKind, &c.Login, func(_ *bus, a *contracts.Account) error {
		if a.Disabled != c.Undo {
			return fmt.Errorf("%q is already %s", a.LoginIdentifier, accountState(a))
		}
		a.Disabled = !c.Undo
		return nil
	})
}

type accountsShowCmd struct {
	catalogueBus `embed:""`
	Login        string `arg:"" help:"Login of the account."`
}

func (c *accountsShowCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return showRecord(ctx, c.catalogueBus, k, std, log, accountKind, c.Login)
}

// accountKind shows accounts without the hashes of their passwords.
var accountKind = recordKind[contracts.Account]{
	kind: event.KindAccount, find: anAccount, all: ingest.Accounts, by: func(a *contracts.Account) string { return a.LoginIdentifier },
	columns: []string{"login", "account", "mandate", "state"}, none: "No accounts.",
	row: func(a *contracts.Account) []any {
		return []any{a.LoginIdentifier, a.AccountID, a.MandateID, accountState(a)}
	},
	lines: []recordLine[contracts.Account]{
		{"login", func(a *contracts.Account) string { return printable(a.LoginIdentifier, "") }},
		{"account", func(a *contracts.Account) string { return a.AccountID.String() }},
		{"mandate", func(a *contracts.Account) string { return a.MandateID.String() }},
		{"state", accountState},
		{"may read", func(a *contracts.Account) string { return namesOf(a.Permissions, false) }},
		{"sites", func(a *contracts.Account) string { return namesOf(a.Scope.Sites, a.Scope.AllSites) }},
		{"orders", func(a *contracts.Account) string { return namesOf(a.Scope.Orders, a.Scope.AllOrders) }},
	},
	done: func(a *contracts.Account) string { return accountDone(a, accountState(a)) },
}

func accountDone(a *contracts.Account, is string) string {
	return fmt.Sprintf("account %s of mandate %s: %s", a.LoginIdentifier, a.MandateID, is)
}

func accountState(a *contracts.Account) string {
	switch {
	case a.Disabled:
		return "disabled"
	case a.Administrative:
		return "administrative"
	}
	return "active"
}

func namesOf[T any](names []T, all bool) string {
	if all {
		return "all of the mandate"
	}
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = printable(fmt.Sprint(n), "")
	}
	return cmp.Or(strings.Join(texts, ", "), "none")
}

// anAccount returns the account of a login, which must exist.
func anAccount(ctx context.Context, b *bus, login string) (*contracts.Account, error) {
	account, err := accountOf(ctx, b, login)
	if err == nil && account == nil {
		err = fmt.Errorf("there is no account with the login %q; `preismon accounts list` lists them", login)
	}
	return account, err
}

// mandateOf returns a mandate by its name or id.
func mandateOf(ctx context.Context, b *bus, name string) (*contracts.Mandate, error) {
	all, err := ingest.Mandates(ctx, b.js)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range all {
		if m.Name == name || m.MandateID.String() == name {
			return m, nil
		}
		names = append(names, fmt.Sprintf("%q", m.Name))
	}
	slices.Sort(names)
	return nil, fmt.Errorf("there is no mandate %q; the mandates are: %s", name, strings.Join(names, ", "))
}

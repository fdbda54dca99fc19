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

// change shows what an account becomes, and publishes it if the user agrees. The
// account before is nil if it is new; next may prompt for a password.
func (c *accountChange) change(ctx context.Context, k *kong.Context, std streams, log *slog.Logger, next func(b *bus) (before, after *contracts.Account, err error)) error {
	return c.catalogueChange.change(ctx, k, std, log, func(b *bus) (*changePlan, error) {
		before, after, err := next(b)
		if err != nil {
			return nil, err
		}
		is, lines := accountState(after), accountLines
		if before != nil && before.PasswordHash != after.PasswordHash {
			is = "another password"
			lines = append(slices.Clip(lines), recordLine[contracts.Account]{"password", func(*contracts.Account) string { return "another one" }})
		}
		done := fmt.Sprintf("account %s of mandate %s: %s", after.LoginIdentifier, after.MandateID, is)
		return &changePlan{show: recordShown(lines, before, after), kind: event.KindAccount, record: after, done: done}, nil
	})
}

type accountsAddCmd struct {
	accountChange `embed:""`
	Mandate       string    `help:"Its mandate, by name or id; it must exist." required:"" placeholder:"NAME"`
	Sees          seesFlags `embed:""`
	Password      secret    `help:"Its password, at least 12 characters; asked for on a terminal when missing." placeholder:"PASSWORD"`
}

func (c *accountsAddCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return c.change(ctx, k, std, log, func(b *bus) (_, after *contracts.Account, err error) {
		login := strings.ToLower(strings.TrimSpace(c.Login))
		known, err := accountOf(ctx, b, login)
		if err != nil {
			return nil, nil, err
		}
		mandate, err := mandateOf(ctx, b, c.Mandate)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case known != nil && !known.Disabled:
			return nil, nil, &ingest.LoginTakenError{Login: known.LoginIdentifier, By: known.AccountID, Of: known.MandateID}
		case known != nil && known.MandateID == mandate.MandateID:
			return nil, nil, fmt.Errorf("%q exists, but is disabled; `preismon accounts disable --undo %s` enables it again", login, login)
		}
		after = &contracts.Account{
			AccountID: contracts.DeriveID[contracts.AccountID]("account", mandate.Name, login), MandateID: mandate.MandateID, LoginIdentifier: login,
			Permissions: contracts.Permissions(), Scope: contracts.AccountScope{AllOrders: true, AllSites: true},
		}
		after.PasswordHash, err = c.newPassword(ctx, std, c.Password, login)
		return nil, after, errors.Join(err, c.Sees.apply(after))
	})
}

type accountsGrantCmd struct {
	accountChange `embed:""`
	Sees          seesFlags `embed:""`
}

func (c *accountsGrantCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return c.change(ctx, k, std, log, func(b *bus) (before, after *contracts.Account, err error) {
		if len(c.Sees.Permissions)+len(c.Sees.Sites)+len(c.Sees.Orders) == 0 {
			return nil, nil, faulty(errors.New("permissions, sites, orders: missing; give at least one of them"))
		}
		if before, err = anAccount(ctx, b, c.Login); err != nil {
			return nil, nil, err
		}
		changed := *before
		return before, &changed, c.Sees.apply(&changed)
	})
}

type accountsDisableCmd struct {
	accountChange `embed:""`
	Undo          bool `help:"Enable it again." env:"-"`
}

func (c *accountsDisableCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return c.change(ctx, k, std, log, func(b *bus) (before, after *contracts.Account, err error) {
		if before, err = anAccount(ctx, b, c.Login); err != nil {
			return nil, nil, err
		}
		if before.Disabled != c.Undo {
			return nil, nil, fmt.Errorf("%q is already %s", before.LoginIdentifier, accountState(before))
		}
		changed := *before
		changed.Disabled = !c.Undo
		return before, &changed, nil
	})
}

type accountsShowCmd struct {
	catalogueBus `embed:""`
	Login        string `arg:"" help:"Login of the account."`
}

func (c *accountsShowCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return showRecord(ctx, c.catalogueBus, k, std, log, anAccount, c.Login, accountLines)
}

// accountLines show an account, without the hash of its password.
var accountLines = []recordLine[contracts.Account]{
	{"login", func(a *contracts.Account) string { return printable(a.LoginIdentifier, "") }},
	{"account", func(a *contracts.Account) string { return a.AccountID.String() }},
	{"mandate", func(a *contracts.Account) string { return a.MandateID.String() }},
	{"state", accountState},
	{"may read", func(a *contracts.Account) string { return namesOf(a.Permissions, false) }},
	{"sites", func(a *contracts.Account) string { return namesOf(a.Scope.Sites, a.Scope.AllSites) }},
	{"orders", func(a *contracts.Account) string { return namesOf(a.Scope.Orders, a.Scope.AllOrders) }},
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

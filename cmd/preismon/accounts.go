package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"preismon/contracts"
	"preismon/ingest"
	"preismon/query/auth"

	"github.com/alecthomas/kong"
)

// accountsCmd shows and changes accounts.
type accountsCmd struct {
	List        accountsListCmd     `cmd:"" help:"List accounts by login."`
	Show        accountsShowCmd     `cmd:"" help:"Show an account: its mandate, what it may read and what it sees."`
	Add         accountsAddCmd      `cmd:"" help:"Add an account to a mandate."`
	Grant       accountsGrantCmd    `cmd:"" help:"Replace what an account may read, and at which sites and of which orders."`
	SetPassword accountsPasswordCmd `cmd:"" name:"set-password" help:"Give an account another password."`
	Disable     accountsDisableCmd  `cmd:"" help:"Disable an account, or enable it again."`
}

type accountsListCmd struct {
	catalogueBus `embed:""`
}

func (c *accountsListCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	return listRecords(ctx, c.catalogueBus, k, std, log, accountKind)
}

type accountsPasswordCmd struct {
	accountChange `embed:""`
	Password      secret `help:"The new password; asked for on a terminal when missing." placeholder:"PASSWORD"`
}

func (c *accountsPasswordCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	of := accountKind
	of.lines = append(slices.Clip(of.lines), recordLine[contracts.Account]{"password", func(*contracts.Account) string { return "another one" }})
	of.done = func(a *contracts.Account) string { return accountDone(a, "another password") }
	return change(ctx, &c.catalogueChange, k, std, log, of, &c.Login, func(_ *bus, a *contracts.Account) (err error) {
		a.PasswordHash, err = c.newPassword(ctx, std, c.Password, c.Login)
		return err
	})
}

// accountOf returns the account of a login; nil: there is none.
func accountOf(ctx context.Context, b *bus, login string) (*contracts.Account, error) {
	all, err := ingest.Accounts(ctx, b.js)
	if err != nil {
		return nil, err
	}
	login = strings.ToLower(strings.TrimSpace(login))
	var found *contracts.Account
	for _, a := range all {
		switch {
		case a.LoginIdentifier != login || (found != nil && a.Disabled):
		case found != nil && !found.Disabled:
			return nil, fmt.Errorf("the login %q belongs to two accounts, %d of mandate %d and %d of mandate %d: publish one of them with another login",
				login, found.AccountID, found.MandateID, a.AccountID, a.MandateID)
		default:
			found = a
		}
	}
	return found, nil
}

// newPassword returns the hash to publish for a new password, which it prompts
// for if it is not given.
func newPassword(ctx context.Context, std streams, password contracts.Secret, login string) (string, error) {
	if password == "" {
		var err error
		if password, err = askPassword(ctx, std, login); err != nil {
			return "", err
		}
	}
	if err := auth.CheckNewPassword(password); err != nil {
		return "", err
	}
	return auth.Defaults().HashPassword(password)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"preismon/cmd/preismon/client"
)

type loginCmd struct {
	URL      string `help:"Address of the server. Default: ${default}." default:"${local_server}" placeholder:"URL"`
	Login    string `required:"" help:"Login of the account." env:"-" placeholder:"LOGIN"`
	Password secret `help:"Password of the account; asked for on a terminal when missing." placeholder:"PASSWORD"`
}

func (c *loginCmd) Run(ctx context.Context, std streams) error {
	u, err := client.ParseURL(c.URL)
	if err != nil {
		return faulty(err)
	}
	if u.Scheme == "http" && !loopback(u) {
		fmt.Fprintf(std.err, "The password goes to %s without encryption; use https where you can.\n", u.Host)
	}
	password := c.Password.Secret
	if password == "" {
		if password, err = askPassword(ctx, std, c.Login); err != nil {
			return err
		}
	}
	to, err := newClient(std, client.Config{URL: u.String()})
	if err != nil {
		return err
	}
	token, err := to.Login(ctx, c.Login, password)
	if err != nil {
		return unanswered(u.String(), err)
	}
	store, err := tokens()
	if err != nil {
		return err
	}
	if err := store.Keep(*token); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Logged in at %s as %s until %s.\n", u, c.Login, token.Expires.Local().Format(time.DateTime))
	return nil
}

func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

type logoutCmd struct {
	remoteFlags
}

func (c *logoutCmd) Run(ctx context.Context, std streams, r *remote) error {
	revoked, err := r.Logout(ctx)
	if expired := client.Expired(err); err != nil && !expired {
		return fmt.Errorf("the token may still be valid: %w", unanswered(r.url, err))
	} else if expired {
		revoked = true
	}
	if c.Token.Secret == "" {
		store, err := tokens()
		if err = errors.Join(err, store.Forget(r.url)); err != nil {
			return err
		}
	}
	if !revoked {
		fmt.Fprintln(std.out, "Logged out here. The server cannot revoke this token; it stays valid until it expires.")
		return nil
	}
	fmt.Fprintf(std.out, "Logged out at %s.\n", r.url)
	return nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/contracts/atomicfile"
)

type changesCmd struct {
	remoteFlags
	scopeFlags
	followFlags
}

// followFlags are those of commands that continue from a token.
type followFlags struct {
	fileFlags
	Follow bool   `help:"Continue with new rows, until it is interrupted or the login expires." env:"-"`
	Since  string `help:"Token to continue from. It contains its selectors, so no others may be given." env:"-" placeholder:"TOKEN"`
	State  string `help:"File that keeps the token: read at the start if it exists, and written after each page of rows, or once the file of --output or the table is complete." env:"-" placeholder:"FILE"`
}

// changesWait is how long a request waits for the first row.
const changesWait = 20 * time.Second

func (c *changesCmd) Run(ctx context.Context, std streams) error {
	return c.run(ctx, std, c.remoteFlags, "changes", parametersOf(*c), (*client.Client).Changes, changedShape)
}

// run writes what follows the token.
func (c *followFlags) run(ctx context.Context, std streams, at remoteFlags, command string, params url.Values,
	read func(*client.Client, context.Context, string, url.Values, time.Duration) (*client.Changes, error), shape feedShape,
) error {
	if err := c.checkOutput(std); err != nil {
		return err
	}
	since, of, err := c.start(params)
	if err != nil {
		return err
	}
	r, err := at.connect(std)
	if err != nil {
		return err
	}
	out, err := c.output(std, shape)
	if err != nil {
		return err
	}
	written := since // rows up to this token are written for good
	for began := since == ""; ; began = false {
		found, err := read(r.Client, ctx, since, params, c.wait(began))
		if err != nil {
			if ctx.Err() != nil && c.Follow { // interrupted, as intended
				return c.goOn(std.err, command, written)
			}
			if written != c.Since && !client.Restart(err) {
				_ = c.goOn(std.err, command, written) // the error matters more than where this goes
			}
			return errors.Join(c.explain(r, err), out.discard())
		}
		last := !c.Follow && found.Progress.UpToDate
		settled, err := out.write(found.Data, last)
		if err != nil { // the token stays before these rows
			_ = c.goOn(std.err, command, written) // the error matters more than where this goes
			return errors.Join(err, out.discard())
		}
		since = found.Progress.Token
		if !settled {
			continue
		}
		written = since
		if err := c.keep(since, of); err != nil {
			return err
		}
		if last {
			return c.goOn(std.err, command, since)
		}
	}
}

// wait returns how long a request waits: the first one has nothing to wait for.
func (c *followFlags) wait(begins bool) time.Duration {
	if begins || !c.Follow {
		return 0
	}
	return changesWait
}

// start returns the token to continue from; empty: start now. of are the
// selectors that it began with, as in a URL; empty: they are not known.
func (c *followFlags) start(params url.Values) (token, of string, err error) {
	given := "?" + params.Encode()
	switch {
	case c.Since != "" && len(params) > 0:
		return "", "", faulty(errors.New("since: the token contains the selectors; leave them out"))
	case c.Since != "":
		return c.Since, "", nil
	case c.State == "":
		return "", given, nil
	}
	text, err := os.ReadFile(c.State)
	if errors.Is(err, fs.ErrNotExist) {
		return "", given, nil
	}
	if err != nil {
		return "", "", err
	}
	token, of, _ = strings.Cut(strings.TrimSpace(string(text)), "\n")
	token, of = strings.TrimSpace(token), strings.TrimSpace(of)
	if token == "" {
		return "", "", faulty(fmt.Errorf("state: %s holds no token; remove it to begin again, from now on", c.State))
	}
	if of != "" && of != given && len(params) > 0 {
		return "", "", faulty(fmt.Errorf("state: %s continues %s, not %s; leave the selectors out, or remove the file to begin again",
			c.State, cmp.Or(strings.TrimPrefix(of, "?"), "everything"), given[1:]))
	}
	return token, of, nil
}

// keep writes the token into its file, completely or not at all, and on a second
// line the selectors that it began with; it syncs the file to disk.
func (c *followFlags) keep(token, of string) error {
	if c.State == "" {
		return nil
	}
	return atomicfile.Write(c.State, []byte(strings.TrimSpace(token+"\n"+of)+"\n"))
}

// goOn prints how to continue, unless a file keeps the token.
func (c *followFlags) goOn(w io.Writer, command, token string) error {
	if c.State != "" || token == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "Continue with: preismon %s --since %s\n", command, token)
	return err
}

func (c *followFlags) explain(r *remote, err error) error {
	explained := r.explain(err)
	if client.Restart(err) && c.State != "" {
		return fmt.Errorf("%w\nRemove %s to begin again", explained, c.State)
	}
	return explained
}

type alertsCmd struct {
	remoteFlags
	scopeFlags
	followFlags
	Rule         string `help:"The rule: PRICE_BELOW, PRICE_DROP, OUT_OF_STOCK, BACK_IN_STOCK, BUYBOX_LOST, UNDERCUT or NO_OBSERVATION." env:"-" placeholder:"RULE"`
	Price        string `help:"For PRICE_BELOW: the price, like 12.34." env:"-" placeholder:"AMOUNT"`
	CurrencyCode string `help:"Currency of --price, like EUR." env:"-" placeholder:"CODE"`
	Percent      string `help:"For PRICE_DROP: by how many percent, 1 to 99." env:"-" placeholder:"NUMBER"`
	OwnMerchant  string `help:"Your name as a merchant, for BUYBOX_LOST and UNDERCUT." env:"-" placeholder:"TEXT"`
	Confirm      string `help:"How many captures in a row must agree, 1 to 5. Default: 1." env:"-" placeholder:"NUMBER"`
	RearmPercent string `help:"By how many percent a price must be above the compared one before PRICE_BELOW or UNDERCUT can fire again, 1 to 50." env:"-" placeholder:"NUMBER"`
	SilentFor    string `help:"For NO_OBSERVATION: how long nothing must be captured of an item-site pair, 1h to 168h." env:"-" placeholder:"HOURS"`
}

func (c *alertsCmd) Run(ctx context.Context, std streams) error {
	return c.run(ctx, std, c.remoteFlags, "alerts", parametersOf(*c), (*client.Client).Alerts, alertShape)
}

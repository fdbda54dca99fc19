package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/ingest"
	"preismon/ingest/maps"
	"preismon/query/auth"

	"github.com/alecthomas/kong"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/term"
)

type importCmd struct {
	roleFlags
	Bus       busFlags   `embed:""`
	Watch     watchFlags `embed:""`
	File      string     `arg:"" optional:"" help:"CSV file, plain, .gz or .zst."`
	Map       string     `help:"Mapping file (YAML), or the name of a built-in one: observations, marketplace-offers, example. Without it the columns are guessed, shown, and written to NAME.yaml." placeholder:"MAP.yaml"`
	Yes       bool       `help:"Publish what was guessed without asking."`
	Mandate   string     `help:"Name of the mandate that shall see the prices; made if it is new." placeholder:"NAME"`
	Login     string     `help:"Login of its account; made if it is new." placeholder:"LOGIN"`
	Password  secret     `help:"Password of a new account, at least 12 characters; asked for on a terminal when missing. That of an account that is there must be right, and may be left out." placeholder:"PASSWORD"`
	Label     string     `help:"Tells the orders of this file from those of another file of the mandate. Default: the file's name." placeholder:"TEXT"`
	Rejects   string     `help:"Where rejected rows go, with line and reason. Default: ${default}." default:"rejects.ndjson" type:"path" placeholder:"FILE"`
	Conflicts string     `help:"What to do with a row about whose product and time an earlier import says something else: ${enum}. Default: ${default}." enum:"reject,add" default:"reject"`
	DryRun    bool       `help:"Read and judge the file, publish nothing."`

	ExampleMap bool         `help:"Print a mapping file that explains every key, and do nothing else."`
	Applied    appliedFlags `embed:""`
}

// Help implements kong.HelpProvider.
func (importCmd) Help() string {
	return `Turns a CSV of observed prices into a working service: sites, items, an order for each site, the mandate, the account and every price go in as events. Encoding, delimiter, columns, forms of amounts and times are guessed: the first rows are shown as understood, with what had to be assumed, and a mapping file is written, which you edit where it is wrong. On a terminal you are asked before anything is published; in a pipe --yes has to say so. --map names a mapping file of your own. Importing a file again, also one that grew, adds what is new and doubles nothing. Exit code 3: some rows were rejected.

Examples:

  preismon import prices.csv --dry-run
  PREISMON_PASSWORD=... preismon import prices.csv --mandate "Our shop" --login me --data-dir ./preismon-data
  PREISMON_PASSWORD=... preismon import prices.csv.gz --map prices.yaml --mandate "Our shop" --login me --data-dir ./preismon-data`
}

func (c *importCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	if c.ExampleMap {
		text, err := maps.BuiltinFile("example")
		fmt.Fprintf(std.out, "%s", text)
		return err
	}
	mapping, mapErr := c.mapping()
	cfg, busErr := c.Bus.config("import", log)
	if c.DryRun {
		busErr = nil
	}
	if done, err := c.only(k, std.out, faulty(c.faults(), mapErr, busErr, c.Applied.faults())); done {
		return err
	}
	if c.Map == "" {
		var err error
		if mapping, err = c.guessed(std); err != nil {
			return err
		}
		if !c.DryRun {
			if err := c.agreed(std); err != nil {
				return err
			}
		}
	}
	rejects := &lazyFile{name: c.Rejects}
	defer rejects.Close()
	req := maps.Request{
		File: c.File, Mapping: mapping, Mandate: c.Mandate, Login: c.Login, Label: c.Label, Rejects: rejects,
		Progress: c.progress(std, log), AddConflicts: c.Conflicts == "add",
	}
	var summary *maps.Summary
	var err error
	if c.DryRun {
		summary, err = maps.Check(ctx, req)
	} else {
		summary, err = c.publish(ctx, req, cfg, std, log)
	}
	if summary != nil && summary.Rows > 0 { // of a file that cannot be read there is nothing to say
		if _, err := summary.WriteTo(std.out); err != nil {
			return err
		}
	}
	if err := errors.Join(err, rejects.Close()); err != nil {
		return err
	}
	if !c.DryRun && summary.Accepted > 0 {
		fmt.Fprintf(std.err, "The newest price is of %s. Look at them: preismon login --login %s, then preismon results --site %s --from %s\n",
			summary.Last.Format(time.RFC3339), summary.Login, summary.Sites[0].Site, summary.Last.Format(time.DateOnly))
	}
	if summary.Rejected > 0 {
		fmt.Fprintf(std.err, "The rejected rows and their reasons are in %s.\n", rejects.name)
		return errRejected
	}
	return nil
}

// faults names what is missing.
func (c *importCmd) faults() error {
	var f contracts.Faults
	f.Check(c.File != "", "file: missing; name the CSV to import")
	f.Check(c.DryRun || c.Mandate != "", "mandate: missing; the name of the company that shall see the prices (--mandate)")
	f.Check(c.DryRun || c.Login != "", "login: missing; who of it may log in (--login)")
	return f.Err()
}

// account finds the account of the login, or the password of a new one. One that
// is there stays as it is.
func (c *importCmd) account(ctx context.Context, b *bus, std streams, req *maps.Request) error {
	known, err := accountOf(ctx, b, c.Login)
	if err != nil {
		return err
	}
	elsewhere := known != nil && known.MandateID != maps.MandateID(strings.TrimSpace(c.Mandate))
	if known == nil || (elsewhere && known.Disabled) {
		req.PasswordHash, err = newPassword(std, c.Password.Secret, c.Login)
		return err
	}
	if elsewhere {
		return &ingest.LoginTakenError{Login: known.LoginIdentifier, By: known.AccountID, Of: known.MandateID}
	}
	if c.Password.Secret != "" {
		same, err := auth.CheckPassword(c.Password.Secret, known.PasswordHash)
		if err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("%q has another password, and an import changes none: leave the password out, or run `preismon accounts set-password`", known.LoginIdentifier)
		}
	}
	req.Known = known
	return nil
}

// mapping reads the mapping file, or a built-in one where no such file is;
// nil where none is named.
func (c *importCmd) mapping() (*maps.Mapping, error) {
	if c.Map == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.Map)
	if errors.Is(err, fs.ErrNotExist) {
		if m, err := maps.Builtin(c.Map); err == nil {
			return m, nil
		}
		return nil, fmt.Errorf("map: there is no file %s, and no built-in mapping of that name (observations, marketplace-offers, example)", c.Map)
	}
	if err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	return maps.ParseMapping(text)
}

func (c *importCmd) progress(std streams, log *slog.Logger) func(maps.Progress) {
	var show *progress
	pass := 0
	return func(p maps.Progress) {
		if p.Pass != pass {
			if show != nil {
				show.end()
			}
			pass = p.Pass
			show = newProgress(std.err, log, []string{1: "reading", 2: "publishing"}[pass], p.TotalBytes)
		}
		show.at(p.Bytes)
		if p.Bytes >= p.TotalBytes {
			show.end()
		}
	}
}

func (c *importCmd) publish(ctx context.Context, req maps.Request, cfg ingest.Config, std streams, log *slog.Logger) (*maps.Summary, error) {
	b, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	defer b.conn.Close()
	if err := c.account(ctx, b, std, &req); err != nil {
		return nil, err
	}
	pub, err := c.Watch.open(b, log)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	req.Published = func(site contracts.SiteKey) iter.Seq2[*contracts.Observations, error] { return imported(ctx, b, site) }
	start := time.Now()
	summary, err := maps.Import(ctx, req, func(ctx context.Context, e *event.Event) error { return pub.Publish(ctx, e) })
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w; run it again to go on, nothing is doubled", context.Cause(ctx))
	}
	if err != nil {
		return summary, err
	}
	stats, err := pub.Flush(ctx)
	if err != nil {
		return summary, fmt.Errorf("%w; run it again to go on, nothing is doubled", err)
	}
	published := time.Since(start)
	fmt.Fprintf(std.err, "Published %s events (%s known already) in %.1f s.\n", thousands(stats.Accepted+stats.Duplicates), thousands(stats.Duplicates), published.Seconds())
	if err := c.Applied.wait(ctx, b); err != nil || !c.Applied.Wait {
		return summary, err
	}
	all := time.Since(start)
	fmt.Fprintf(std.err, "Everything can be queried after %.1f s: %s rows/s through the whole way.\n", all.Seconds(), thousands(int64(float64(summary.Accepted)/all.Seconds())))
	return summary, nil
}

// imported gives what imports published of a site.
func imported(ctx context.Context, b *bus, site contracts.SiteKey) iter.Seq2[*contracts.Observations, error] {
	return func(yield func(*contracts.Observations, error) bool) {
		subject := (&event.Event{Kind: event.KindObservations, Data: &contracts.Observations{Site: site}}).Subject()
		for m, err := range ingest.NewHistory(b.js).Read(ctx, event.ReadRequest{Stream: event.StreamObservations, Subject: subject, Bodies: true}) {
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			e, err := event.Decode(m.Data)
			if err != nil || e.Producer != maps.Producer {
				continue // poison is in the dead letters; others publish what they saw
			}
			if batch, ok := e.Data.(*contracts.Observations); ok && !yield(batch, nil) {
				return
			}
		}
	}
}

// askPassword asks on the terminal, without showing what is typed.
func askPassword(std streams, login string) (contracts.Secret, error) {
	f, ok := std.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return "", errors.New("the account needs a password: set PREISMON_PASSWORD, or run on a terminal to be asked")
	}
	fmt.Fprintf(std.err, "Password for %s: ", login)
	text, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(std.err)
	if err != nil {
		return "", err
	}
	return contracts.Secret(text), nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"runtime/debug"
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
	Files     []string   `arg:"" name:"file" optional:"" help:"CSV (plain, .gz, .zst), XLSX, Parquet or ZIP of CSVs; several, or a pattern like 'prices-*.csv'; - is standard input."`
	Map       string     `help:"Mapping file (YAML), or the name of a built-in one: observations, marketplace-offers, example. Without it the columns are guessed, shown, and written to NAME.yaml." placeholder:"MAP.yaml"`
	Yes       bool       `help:"Publish what was guessed without asking."`
	Mandate   string     `help:"Name of the mandate (the company) that may see the prices; created if it is new." placeholder:"NAME"`
	Login     string     `help:"Login of its account; created if it is new." placeholder:"LOGIN"`
	Password  secret     `help:"Password of a new account, at least 12 characters; asked for on a terminal when missing. For an existing account it may be left out, and must be right if given." placeholder:"PASSWORD"`
	Label     string     `help:"Name of the orders that the file adds to: files with the same label share them. With several files, also of one ZIP, the name of each is appended. Default: the file's name without the day (and time of day), week or month in it." placeholder:"TEXT"`
	Rejects   string     `help:"File for rejected rows, with line and reason. With several files each has its own, whose name ends with that of the file. Default: ${default}." default:"rejects.ndjson" type:"path" placeholder:"FILE"`
	Conflicts string     `help:"What to do with a row that differs from an earlier import for the same product and time: ${enum}. Default: ${default}." enum:"reject,add" default:"reject"`
	Folder    string     `name:"watch" type:"existingdir" help:"Import the files of this folder, and then what arrives there, until it is stopped. Needs --map." placeholder:"FOLDER"`
	DryRun    bool       `help:"Read and check the files, but publish nothing."`

	ExampleMap bool         `help:"Print a mapping file that explains every key, and do nothing else."`
	Applied    appliedFlags `embed:""`
}

// importMemory is the memory use from which on garbage is collected more often:
// a file whose rows must be sorted is held in larger pieces. GOMEMLIMIT replaces it.
const importMemory = 512 << 20

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
	dir, err := os.MkdirTemp("", "preismon-import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	run := &importRun{importCmd: c, std: std, log: log, dir: dir, mapping: mapping, memory: maps.NewMemory()}
	debug.SetGCPercent(400) // of most files it holds little at a time; collecting that took a tenth of the import
	collectFrom(importMemory)
	if c.Folder != "" {
		return run.watch(ctx, cfg)
	}
	files, err := run.sources(ctx)
	if err != nil {
		return err
	}
	if c.Map == "" {
		if run.mapping, err = guessed(files, strings.TrimSpace(c.Mandate), std); err != nil {
			return err
		}
		if !c.DryRun && !c.Yes {
			if err := consent(ctx, std, "rows", "Publish what is understood as above?", "nothing was published"); err != nil {
				return err
			}
		}
	}
	return run.all(ctx, files, cfg)
}

// faults returns what is missing.
func (c *importCmd) faults() error {
	var f contracts.Faults
	f.Check(len(c.Files) > 0 || c.Folder != "", "file: missing; name the CSV to import")
	if c.Folder != "" {
		f.Check(len(c.Files) == 0, "watch: files cannot be given together with a folder; import them separately")
		f.Check(c.Map != "", "watch: it needs --map, so that all files have one; `preismon import FILE --dry-run` writes one")
		f.Check(!c.DryRun, "watch: it imports, and --dry-run does not")
	}
	f.Check(c.DryRun || c.Mandate != "", "mandate: missing; name the company that may see the prices")
	f.Check(c.DryRun || c.Login != "", "login: missing; name the account that may log in")
	return f.Err()
}

// account finds the account of the login, or the password of a new one, for
// which it may prompt. An existing account is not changed.
func (c *importCmd) account(ctx context.Context, b *bus, std streams, req *maps.Request) error {
	known, err := accountOf(ctx, b, c.Login)
	if err != nil {
		return err
	}
	elsewhere := known != nil && known.MandateID != maps.MandateID(strings.TrimSpace(c.Mandate))
	if known == nil || (elsewhere && known.Disabled) {
		req.PasswordHash, err = newPassword(ctx, std, c.Password.Secret, c.Login)
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

// mapping reads the mapping file, or a built-in mapping if there is no such
// file; nil if none is named.
func (c *importCmd) mapping() (*maps.Mapping, error) {
	if c.Map == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.Map)
	if errors.Is(err, fs.ErrNotExist) {
		if m, err := maps.Builtin(c.Map); err == nil {
			return m, nil
		}
		return nil, fmt.Errorf("map: there is no file %s, and no built-in mapping of that name (observations, marketplace-offers, example); without --map the columns are guessed and a mapping is written", c.Map)
	}
	if err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	return maps.ParseMapping(text)
}

func (c *importCmd) progress(std streams, log *slog.Logger) func(maps.Progress) {
	show := steps{to: std.err, log: log}
	return func(p maps.Progress) {
		show.at([]string{1: "reading", 2: "publishing"}[p.Pass], p.Bytes, p.TotalBytes)
		if p.Bytes >= p.TotalBytes {
			show.end()
		}
	}
}

// warnOfDropped warns, once, that the stream no longer has all that may have
// been imported since a time: rows that cannot be found there are published
// again.
func (r *importRun) warnOfDropped(ctx context.Context, since time.Time) error {
	stream, err := r.bus.js.Stream(ctx, event.StreamObservations)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	has := stream.CachedInfo().State
	if r.warned || has.FirstSeq <= 1 || has.Msgs > 0 && !since.Before(has.FirstTime) {
		return nil
	}
	r.warned = true
	from := "has nothing any more"
	if has.Msgs > 0 {
		from = "has what was published since " + has.FirstTime.UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(r.std.err, "The stream %s %s (see --keep-observations): rows of these files that were imported earlier are no longer known, and may be duplicated.\n", event.StreamObservations, from)
	return nil
}

// imported yields what imports have published for a site since a time, this run
// included; zero: all of it.
func (r *importRun) imported(ctx context.Context, site contracts.SiteKey, since time.Time) iter.Seq2[*contracts.Observations, error] {
	return func(yield func(*contracts.Observations, error) bool) {
		if _, err := r.pub.Flush(ctx); err != nil {
			yield(nil, err)
			return
		}
		if err := r.warnOfDropped(ctx, since); err != nil {
			yield(nil, err)
			return
		}
		subject := (&event.Event{Kind: event.KindObservations, Data: &contracts.Observations{Site: site}}).Subject()
		for m, err := range ingest.NewHistory(r.bus.js).Read(ctx, event.ReadRequest{Stream: event.StreamObservations, Subject: subject, Since: since, Bodies: true}) {
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			e, err := event.Decode(m.Data)
			if err != nil || e.Producer != maps.Producer {
				continue // poison is in the dead letters; other producers publish their own observations
			}
			if batch, ok := e.Data.(*contracts.Observations); ok && !yield(batch, nil) {
				return
			}
		}
	}
}

// askPassword prompts on the terminal, without showing what is typed. If ctx ends
// first, the terminal is as it was before.
func askPassword(ctx context.Context, std streams, login string) (contracts.Secret, error) {
	f, ok := std.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return "", errors.New("the account needs a password: set PREISMON_PASSWORD, or run on a terminal to be asked")
	}
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(std.err, "Password for %s: ", login)
	text, err := until(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	fmt.Fprintln(std.err)
	if ctx.Err() != nil {
		err = errors.Join(err, term.Restore(fd, before))
	}
	if err != nil {
		return "", err
	}
	return contracts.Secret(text), nil
}

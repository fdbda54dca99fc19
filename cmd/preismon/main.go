// Command preismon observes prices: `preismon up` runs everything on one
// machine, the other commands run one role each against external servers.
// This package reads flags, the environment and the config file, wires the
// roles together, and starts and stops them in order; it has no other logic.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

const description = `Read-only observation of prices and availability at online shops.

Try it:  preismon up --demo

Every flag --some-flag can also be given as PREISMON_SOME_FLAG in the environment or as "some-flag: ..." in the file of --config.
Where a value is a secret, @FILE reads it from a file.`

type cli struct {
	Config kong.ConfigFlag `help:"Read flags from this YAML file." placeholder:"FILE"`
	Log    logFlags        `embed:"" prefix:"log-"`

	Up        upCmd        `cmd:"" help:"Run everything in one process: ClickHouse, NATS, projector, query service."`
	Ingest    ingestCmd    `cmd:"" help:"Publish events from NDJSON files or stdin."`
	Import    importCmd    `cmd:"" help:"Publish a CSV of observed prices, by a mapping file."`
	Projector projectorCmd `cmd:"" help:"Run the projector: events to ClickHouse tables."`
	Query     queryCmd     `cmd:"" help:"Run the query service: REST and NDJSON."`
	Bench     benchCmd     `cmd:"" help:"Measure against what one would run instead."`
	Migrate   migrateCmd   `cmd:"" help:"Bring the ClickHouse schema to this program's version."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

// streams are the standard streams, so that tests can take their place.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// Exit codes.
const (
	exitFailed   = 1 // the command failed
	exitUsage    = 2 // flags or configuration are wrong
	exitRejected = 3 // the run ended well, but lines were rejected
)

// errRejected ends a run that did all it could, but not everything.
var errRejected = errors.New("some lines were rejected")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

func run(ctx context.Context, args []string, std streams) int {
	var c cli
	exit := -1
	parser, err := kong.New(&c,
		kong.Name("preismon"), kong.Description(description),
		kong.DefaultEnvars("PREISMON"),
		kong.Configuration(loadConfigFile),
		kong.Writers(std.out, std.err),
		kong.Exit(func(code int) { exit = code }),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}),
		kong.Vars(defaults()),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(std),
	)
	if err != nil {
		panic(err) // a mistake in the flags' definition
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err := parser.Parse(args)
	if exit >= 0 { // --help did its work
		return exit
	}
	if err != nil {
		fmt.Fprintf(std.err, "preismon: %v\nSee `preismon --help`.\n", err)
		return exitUsage
	}
	switch err := kctx.Run(kctx, c.Log.logger(std.err)); {
	case err == nil:
		return 0
	case errors.Is(err, errRejected):
		return exitRejected
	case errors.As(err, new(*configError)):
		fmt.Fprintf(std.err, "preismon: the configuration is wrong:\n%v\n", err)
		return exitUsage
	default:
		fmt.Fprintf(std.err, "preismon: %v\n", err)
		return exitFailed
	}
}

// Command preismon observes prices: `preismon up` runs everything on one
// machine, the other commands run one role each against external servers.
// This package reads flags, the environment and the config file, wires the
// roles together, and starts and stops them in order; it has no other logic.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"preismon/query"

	"github.com/alecthomas/kong"
)

const description = `Read-only observation of prices and availability at online shops.

Try it:  preismon up --demo

Use it:  preismon login --url URL --login LOGIN, then preismon results --limit 20

A flag can also be given by the environment variable that its help names, or as "some-flag: ..." in the file of --config.
Where a value is a secret, @FILE reads it from a file.`

type cli struct {
	Config kong.ConfigFlag `help:"Read flags from this YAML file." placeholder:"FILE"`
	Log    logFlags        `embed:"" prefix:"log-"`

	Up          upCmd          `cmd:"" help:"Run everything in one process: ClickHouse, NATS, projector, query service."`
	Ingest      ingestCmd      `cmd:"" help:"Publish events from NDJSON files or stdin."`
	Import      importCmd      `cmd:"" help:"Import prices from a CSV, Excel or Parquet file."`
	Accounts    accountsCmd    `cmd:"" help:"List, add, change and disable accounts."`
	Catalogue   catalogueCmd   `cmd:"" help:"List, add and change orders and sites."`
	Projector   projectorCmd   `cmd:"" help:"Run the projector: events to ClickHouse tables."`
	Query       queryCmd       `cmd:"" help:"Run the query service: REST, streams, MCP and the web pages."`
	Audit       auditCmd       `cmd:"" help:"Compare streams, dead letters and tables, and report what is missing or duplicated."`
	Doctor      doctorCmd      `cmd:"" help:"Check the whole installation, and say what needs attention and which command fixes it."`
	Trace       traceCmd       `cmd:"" help:"Show where an event is, and who sees it."`
	DeadLetters deadLettersCmd `cmd:"" name:"deadletters" help:"List, show and replay events that could not be read."`
	Backup      backupCmd      `cmd:"" help:"Back up the ClickHouse tables, list the backups, and test them."`
	Restore     restoreCmd     `cmd:"" help:"Restore the ClickHouse tables from a backup."`
	Rebuild     rebuildCmd     `cmd:"" help:"Rebuild all tables from the streams, while the old ones stay in use."`
	Assets      assetsCmd      `cmd:"" name:"explorer-assets" help:"Fetch the libraries of the explorer into a folder."`
	Migrate     migrateCmd     `cmd:"" help:"Upgrade the ClickHouse schema to this program's version."`
	Market      marketCmd      `cmd:"" help:"Publish the demo's simulated market to your own servers."`
	Health      healthCmd      `cmd:"" help:"Ask a role on this machine whether it is ready."`
	Secrets     secretsCmd     `cmd:"" help:"Generate the secrets for docker-compose.yml."`
	Version     versionCmd     `cmd:"" help:"Print the version."`

	Login       loginCmd       `cmd:"" group:"As a client of a server" help:"Log in to a server; the token is stored."`
	Logout      logoutCmd      `cmd:"" group:"As a client of a server" help:"Revoke the token and forget it."`
	Sites       sitesCmd       `cmd:"" group:"As a client of a server" help:"List the sites that you see."`
	Items       itemsCmd       `cmd:"" group:"As a client of a server" help:"List or search the products that you see."`
	Orders      ordersCmd      `cmd:"" group:"As a client of a server" help:"List the orders that you see."`
	Results     resultsCmd     `cmd:"" group:"As a client of a server" help:"Read observed prices, for people or programs."`
	Stream      streamCmd      `cmd:"" group:"As a client of a server" help:"Read observed prices as NDJSON, row by row."`
	Export      exportCmd      `cmd:"" group:"As a client of a server" help:"Write observed prices to a file: NDJSON, CSV, Arrow or Parquet."`
	SQL         sqlCmd         `cmd:"" name:"sql" group:"As a client of a server" help:"Query observed prices with SQL, on a local copy."`
	Lookup      lookupCmd      `cmd:"" group:"As a client of a server" help:"Look up many products at once: whether they are known, and what was seen last."`
	Stats       statsCmd       `cmd:"" group:"As a client of a server" help:"Summarize observed prices by product, site, merchant or brand, and by time."`
	Position    positionCmd    `cmd:"" group:"As a client of a server" help:"See where your prices stand among the current offers, worst first."`
	Movers      moversCmd      `cmd:"" group:"As a client of a server" help:"See what changed between two points in time, the largest price changes first."`
	Evidence    evidenceCmd    `cmd:"" group:"As a client of a server" help:"See where a row comes from: its event, its URL, and when the next capture was due."`
	Overview    overviewCmd    `cmd:"" group:"As a client of a server" help:"See what changed and what needs attention, in one request."`
	ItemSummary itemSummaryCmd `cmd:"" group:"As a client of a server" help:"See a product in one request: prices, rank, range, buy box, stock."`
	SiteStatus  siteStatusCmd  `cmd:"" group:"As a client of a server" help:"See how up to date each site is, and why products have no price there."`
	OrderStatus orderStatusCmd `cmd:"" group:"As a client of a server" help:"See how each order is doing, and its newest archived files."`
	Windows     windowsCmd     `cmd:"" group:"As a client of a server" help:"See which days have changed, so that a copy reads only those again."`
	Changes     changesCmd     `cmd:"" group:"As a client of a server" help:"Follow new rows as they become visible: each once, late ones too."`
	Alerts      alertsCmd      `cmd:"" group:"As a client of a server" help:"Get alerts by a rule: a price, a drop, stock, the buy box, an undercut."`
	Notify      notifyCmd      `cmd:"" group:"As a client of a server" help:"Deliver alerts to webhooks, by mail and to commands, as a rules file says."`
	Explain     explainCmd     `cmd:"" group:"As a client of a server" help:"Show what a command would read: whether it is accepted, and how much it is."`
	History     historyCmd     `cmd:"" group:"As a client of a server" help:"List and download archived files of an order."`
	Completion  completionCmd  `cmd:"" group:"As a client of a server" help:"Print a completion script for your shell."`
	Complete    completeCmd    `cmd:"" hidden:"" name:"__complete"`
}

// newCLI returns the command line, with the flags that are made from the
// parameters of results.
func newCLI() *cli {
	c := new(cli)
	for _, f := range []*resultFlags{&c.Results.resultFlags, &c.Stream.resultFlags, &c.Export.resultFlags, &c.SQL.resultFlags} {
		f.Plugins = kong.Plugins{parameterFlags()}
	}
	return c
}

// streams are the standard streams, so that tests can replace them.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// Exit codes.
const (
	exitFailed   = 1 // the command failed
	exitUsage    = 2 // flags or configuration are wrong
	exitRejected = 3 // the run completed, but lines were rejected

	exitIncomplete = 4 // a part of the answer was written, but not all
	exitFound      = 5 // an audit found something
)

// errRejected ends a run that did what it could, but not everything.
var errRejected = errors.New("some lines were rejected")

// errFound ends an audit that found something wrong.
var errFound = errors.New("something is missing, duplicated or different")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// newParser returns the parser of the command line.
func newParser(ctx context.Context, into *cli, std streams, exit func(int), further ...kong.Option) *kong.Kong {
	parser, err := kong.New(into, append([]kong.Option{
		kong.Name("preismon"), kong.Description(description),
		kong.DefaultEnvars("PREISMON"),
		kong.Configuration(loadConfigFile),
		kong.Writers(std.out, std.err),
		kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}),
		kong.Vars(defaults()),
		kong.PostBuild(func(k *kong.Kong) error { return describe(k.Model.Node) }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(std),
	}, further...)...)
	if err != nil {
		panic(err) // a mistake in the flags' definition
	}
	return parser
}

func run(ctx context.Context, args []string, std streams) int {
	std = sharing(std)
	c := newCLI()
	exit := -1
	parser := newParser(ctx, c, std, func(code int) { exit = code })
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err := parser.Parse(args)
	if exit >= 0 { // --help has been printed
		return exit
	}
	if err != nil {
		return refuse(std, allFaults(ctx, err, args), meant(err))
	}
	switch err := kctx.Run(kctx, c.Log.logger(std.err)); {
	case err == nil, errors.Is(err, errPagerLeft):
		return 0
	case errors.Is(err, errRejected):
		return exitRejected
	case errors.Is(err, errFound):
		return exitFound
	case incomplete(err):
		fmt.Fprintf(std.err, "preismon: %v\n", err)
		return exitIncomplete
	case errors.As(err, new(*configError)):
		lines := faultLines(err)
		for i := range lines {
			lines[i] = asFlags(kctx.Flags(), lines[i])
		}
		return refuse(std, lines, named(kctx.Path))
	default:
		fmt.Fprintf(std.err, "preismon: %v\n%s", err, connectionHint(err))
		return exitFailed
	}
}

// refuse prints what is wrong with a command.
func refuse(std streams, faults []string, command string) int {
	fmt.Fprintf(std.err, "preismon: %s\nSee `%s --help`.\n", strings.Join(faults, "\npreismon: "), command)
	return exitUsage
}

// connectionHint returns a hint for a server that did not answer, if the error does
// not give one itself.
func connectionHint(err error) string {
	dial, ok := errors.AsType[*net.OpError](err)
	if !ok || dial.Op != "dial" || dial.Addr == nil || strings.Contains(err.Error(), "nothing answers") {
		return ""
	}
	return fmt.Sprintf("Nothing answers at %s: is it running, and is this its address?\n", dial.Addr)
}

// meant returns the command that wrong flags were given to, as far as it is known.
func meant(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) {
		return named(wrong.Context.Path)
	}
	return "preismon"
}

// named returns the command of a path.
func named(path []*kong.Path) string {
	name := "preismon"
	for _, part := range path {
		if part.Command != nil {
			name += " " + part.Command.Name
		}
	}
	return name
}

// defaults provides the packages' own defaults to the flags' definitions.
func defaults() kong.Vars {
	q := query.Defaults()
	return kong.Vars{
		"local_server": localServer,

		"soft_deadline": q.SoftDeadline.String(),
		"hard_budget":   q.HardBudget.String(),

		"preact": preactVersion, "uplot": uplotVersion,

		"archive_download_max_bytes": strconv.FormatInt(q.MaxDownloadBytes, 10),
	}
}

const resultsHelp = `Without a window, a product is read over the last 7 days, and everything else over the last day. A read that is refused as too broad is split into smaller windows, then site by site. The exit code is 4 when rows are missing; the message says which.`

// helpFiles are what the help of commands says in addition to their flags:
// help/COMMAND.txt, with a folder for a command that has subcommands.
//
//go:embed help
var helpFiles embed.FS

// describe adds their help to a command and all its subcommands.
func describe(n *kong.Node) error {
	for _, c := range n.Children {
		if err := describe(c); err != nil {
			return err
		}
	}
	text, err := helpFiles.ReadFile("help/" + strings.ReplaceAll(n.Path(), " ", "/") + ".txt")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	shared := strings.NewReplacer("{results}", resultsHelp, "{explainable}", strings.Join(explainable, ", "))
	n.Detail = shared.Replace(strings.TrimSuffix(string(text), "\n"))
	return err
}

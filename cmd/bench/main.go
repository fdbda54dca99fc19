package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"preismon/contracts"

	"github.com/alecthomas/kong"
)

const description = `Measure the speed on this machine, compared with alternatives.

Creates a data set in a separate database and compares with what users would run instead: ClickHouse's own HTTP interface, a plain handler, bare publishing, direct inserts. The candidates alternate; the numbers are medians with their spread, ratios first. Run it on an otherwise idle machine.

Quickly:     go run ./cmd/bench --quick

As a page:   go run ./cmd/bench --report bench.html --json >bench.json

How it grows: go run ./cmd/bench --join small.json,middle.json,large.json --report growth.html`

// flags are the flags of the command.
type flags struct {
	Observations   int      `help:"Rows of observations. Default: 50 million, or 3 million with --quick."`
	Mandates       int      `help:"Mandates that watch the products, each with a different share." default:"100"`
	Quick          bool     `help:"A small data set and few rounds: five minutes."`
	Seed           uint64   `help:"Seed of the data set." default:"1"`
	Rounds         int      `help:"Rounds of each comparison, instead of the usual number."`
	Only           []string `help:"Measure these parts only: ${parts}." placeholder:"PART"`
	DataDir        string   `help:"Keep the data here, and use what is there. Default: a temporary folder." type:"path" placeholder:"DIR"`
	JSON           bool     `name:"json" xor:"form" help:"Print one JSON object."`
	Markdown       bool     `xor:"form" help:"Print the table of figures in the documentation."`
	Join           []string `help:"Measure nothing: draw curves over these results of --json, and forecast the largest from the others." type:"existingfile" placeholder:"FILE"`
	Report         string   `help:"Write a page with plots." type:"path" placeholder:"FILE.html"`
	Profiles       string   `help:"Write CPU profiles of what is measured." type:"path" placeholder:"DIR"`
	Program        string   `name:"preismon" help:"The program to measure. Default: it is built from this folder." type:"existingfile" placeholder:"FILE"`
	Import         string   `help:"File of observed prices, with the columns of the built-in mapping \"observations\", to import. Default: one of the same shape is made." type:"existingfile" placeholder:"FILE"`
	ClickHouse     string   `name:"clickhouse-dsn" env:"PREISMON_CLICKHOUSE_DSN" help:"Measure on this ClickHouse, as a user that may create databases, instead of an embedded one." placeholder:"DSN"`
	ClickHouseHTTP string   `name:"clickhouse-url" env:"PREISMON_CLICKHOUSE_URL" help:"Its HTTP interface." placeholder:"URL"`
	NATS           string   `name:"nats-url" env:"PREISMON_NATS_URL" help:"And this NATS." placeholder:"URL"`
	Verbose        bool     `help:"Log what the servers say."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(bench(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// bench returns the exit code: 1 if measuring failed, 2 if the flags are wrong.
func bench(ctx context.Context, args []string, out, errs io.Writer) int {
	var f flags
	code := -1
	parser := kong.Must(&f, kong.Name("bench"), kong.Description(description), kong.Writers(out, errs), kong.Exit(func(c int) { code = c }),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}), kong.Vars{"parts": strings.Join(Parts(), ", ")})
	_, err := parser.Parse(args)
	if code >= 0 { // --help has been printed
		return code
	}
	if err == nil && len(f.Join) > 0 {
		if err := f.join(out); err != nil {
			fmt.Fprintf(errs, "bench: %v\n", err)
			return 1
		}
		return 0
	}
	cfg := f.config(errs)
	if err = errors.Join(err, cfg.Validate()); err != nil {
		fmt.Fprintf(errs, "bench: %v\n", err)
		return 2
	}
	if err := f.measure(ctx, cfg, out, errs); err != nil {
		fmt.Fprintf(errs, "bench: %v\n", err)
		return 1
	}
	return 0
}

// join writes the forecasts of several results, and a report of their curves.
func (f *flags) join(out io.Writer) error {
	all, err := readResults(f.Join)
	if err != nil {
		return err
	}
	if f.Report != "" {
		if err := os.WriteFile(f.Report, join(all).HTML(), 0o644); err != nil {
			return err
		}
	}
	return writeForecasts(out, forecasts(all))
}

func (f *flags) config(errs io.Writer) Config {
	c := Config{
		Observations: f.Observations, Mandates: f.Mandates, Seed: f.Seed, Quick: f.Quick, Rounds: f.Rounds, DataDir: f.DataDir, Only: f.Only, Profiles: f.Profiles,
		Program: f.Program, Import: f.Import, ClickHouse: contracts.Secret(f.ClickHouse), ClickHouseHTTP: f.ClickHouseHTTP, NATS: contracts.Secret(f.NATS), Progress: errs,
	}
	if f.Verbose {
		c.Logger = slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	switch {
	case c.Observations == 0 && c.Quick:
		c.Observations = 3_000_000
	case c.Observations == 0:
		c.Observations = 50_000_000
	}
	return c
}

// measure runs the benchmark, and writes its result.
func (f *flags) measure(ctx context.Context, cfg Config, out, errs io.Writer) error {
	if cfg.Program == "" {
		folder, err := os.MkdirTemp("", "preismon-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
		if cfg.Program, err = build(ctx, folder, errs); err != nil {
			return err
		}
	}
	result, err := Run(ctx, cfg)
	if result == nil {
		return err
	}
	if err != nil && len(result.Ratios) > 0 {
		fmt.Fprintf(errs, "The run ended early; what follows is incomplete.\n")
	}
	switch {
	case f.JSON:
		err = errors.Join(err, json.NewEncoder(out).Encode(result))
	case f.Markdown:
		err = errors.Join(err, result.WriteMarkdown(out))
	default:
		err = errors.Join(err, result.WriteText(out))
	}
	if f.Report != "" {
		err = errors.Join(err, os.WriteFile(f.Report, result.HTML(), 0o644))
	}
	return err
}

// build builds preismon from source into a folder.
func build(ctx context.Context, folder string, errs io.Writer) (program string, err error) {
	program = filepath.Join(folder, "preismon")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "preismon/cmd/preismon")
	cmd.Stdout, cmd.Stderr = errs, errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build preismon: %w; run this in the project's folder, or name the program by --preismon", err)
	}
	return program, nil
}

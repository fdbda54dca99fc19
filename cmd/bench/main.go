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
	"syscall"

	"github.com/alecthomas/kong"
)

const description = `Measure the speed on this machine, compared with alternatives.

Creates a data set in a separate database and compares with what users would run instead: ClickHouse's own HTTP interface, a plain handler, bare publishing, direct inserts. The candidates alternate; the numbers are medians with their spread, ratios first. Run it on an otherwise idle machine.

Quickly:     go run ./cmd/bench --quick

As a page:   go run ./cmd/bench --report bench.html --json >bench.json

How it grows: go run ./cmd/bench --join small.json,middle.json,large.json --report growth.html`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(bench(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// bench returns the exit code: 1 if measuring failed, 2 if the flags are wrong.
func bench(ctx context.Context, args []string, out, errs io.Writer) int {
	c := Config{Progress: errs, Logger: slog.New(slog.DiscardHandler)}
	code := -1
	parser := kong.Must(&c, kong.Name("bench"), kong.Description(description), kong.Writers(out, errs), kong.Exit(func(c int) { code = c }),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}), kong.Vars{"parts": partNames()})
	_, err := parser.Parse(args)
	if code >= 0 { // --help has been printed
		return code
	}
	fail := func(code int, err error) int {
		fmt.Fprintf(errs, "bench: %v\n", err)
		return code
	}
	if err == nil && len(c.Join) > 0 {
		err = c.join(out)
	} else {
		c.complete()
		if err = errors.Join(err, c.validate()); err != nil {
			return fail(2, err)
		}
		err = c.measure(ctx, out)
	}
	if err != nil {
		return fail(1, err)
	}
	return 0
}

// join writes the forecasts of several results, and a report of their curves.
func (c Config) join(out io.Writer) error {
	all, err := readResults(c.Join)
	if err != nil {
		return err
	}
	return errors.Join(c.report(join(all)), writeForecasts(out, forecasts(all)))
}

// report writes the page with plots, if it is wanted.
func (c Config) report(r *Result) error {
	if c.Report == "" {
		return nil
	}
	return os.WriteFile(c.Report, r.HTML(), 0o644)
}

// complete fills in what depends on other flags.
func (c *Config) complete() {
	if c.Verbose {
		c.Logger = slog.New(slog.NewTextHandler(c.Progress, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	switch {
	case c.Observations == 0 && c.Quick:
		c.Observations = 3_000_000
	case c.Observations == 0:
		c.Observations = 50_000_000
	}
}

// measure runs the benchmark, and writes its result.
func (c Config) measure(ctx context.Context, out io.Writer) error {
	if c.Program == "" {
		folder, err := os.MkdirTemp("", "preismon-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
		if c.Program, err = build(ctx, folder, c.Progress); err != nil {
			return err
		}
	}
	r := newRun(c)
	err, result := r.run(ctx), r.result
	if err != nil && len(result.Ratios) > 0 {
		fmt.Fprintf(c.Progress, "The run ended early; what follows is incomplete.\n")
	}
	write := result.WriteText
	switch {
	case c.JSON:
		write = func(w io.Writer) error { return json.NewEncoder(w).Encode(result) }
	case c.Markdown:
		write = result.WriteMarkdown
	}
	return errors.Join(err, write(out), c.report(result))
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

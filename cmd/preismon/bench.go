package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"preismon/cmd/bench"
)

type benchCmd struct {
	Observations   int      `help:"Rows of observations. Default: 50 million, or 3 million with --quick."`
	Quick          bool     `help:"A small data set and few rounds: five minutes."`
	Seed           uint64   `help:"Seed of the data set." default:"1"`
	Rounds         int      `help:"Rounds of each comparison, instead of the usual number."`
	Only           []string `help:"Measure these parts only: size, stream, tables, page, beside, hot, reads, mcp, statistics, growth, dashboards, again, memory, publish, drain, visible, tails, ready." placeholder:"PART"`
	DataDir        string   `help:"Keep the data here, and use what is there. Default: a temporary folder." type:"path" placeholder:"DIR"`
	JSON           bool     `name:"json" xor:"form" help:"Print one JSON object."`
	Markdown       bool     `xor:"form" help:"Print the table of figures in the documentation."`
	Report         string   `help:"Write a page with plots." type:"path" placeholder:"FILE.html"`
	Profiles       string   `help:"Write CPU profiles of what is measured." type:"path" placeholder:"DIR"`
	ClickHouse     secret   `name:"clickhouse-dsn" help:"Measure on this ClickHouse, as a user that may create databases, instead of an embedded one." placeholder:"DSN"`
	ClickHouseHTTP string   `name:"clickhouse-url" help:"Its HTTP interface." placeholder:"URL"`
	NATS           secret   `name:"nats-url" help:"And this NATS." placeholder:"URL"`
}

func (c *benchCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cfg := bench.Config{
		Observations: c.Observations, Seed: c.Seed, Quick: c.Quick, Rounds: c.Rounds, DataDir: c.DataDir, Only: c.Only, Profiles: c.Profiles,
		Program: program, ClickHouse: c.ClickHouse.Secret, ClickHouseHTTP: c.ClickHouseHTTP, NATS: c.NATS.Secret, Progress: std.err,
	}
	if log.Enabled(ctx, slog.LevelDebug) { // logs between the numbers do not help
		cfg.Logger = log
	}
	switch {
	case cfg.Observations == 0 && cfg.Quick:
		cfg.Observations = 3_000_000
	case cfg.Observations == 0:
		cfg.Observations = 50_000_000
	}
	if err := cfg.Validate(); err != nil {
		return faulty(err)
	}
	result, err := bench.Run(ctx, cfg)
	if result == nil {
		return err
	}
	if err != nil && len(result.Ratios) > 0 {
		fmt.Fprintf(std.err, "The run ended early; what follows is incomplete.\n")
	}
	switch {
	case c.JSON:
		text, e := json.Marshal(result)
		if e != nil {
			return errors.Join(err, e)
		}
		fmt.Fprintf(std.out, "%s\n", text)
	case c.Markdown:
		err = errors.Join(err, result.WriteMarkdown(std.out))
	default:
		err = errors.Join(err, result.WriteText(std.out))
	}
	if c.Report != "" {
		err = errors.Join(err, os.WriteFile(c.Report, result.HTML(), 0o644))
	}
	return err
}

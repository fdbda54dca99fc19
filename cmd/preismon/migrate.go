package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"preismon/archive"
	"preismon/projector/schema"

	"github.com/alecthomas/kong"
)

type migrateCmd struct {
	roleFlags
	ClickHouse secret   `name:"clickhouse-dsn" help:"clickhouse://user:password@host:9000/database of a user that may create tables." placeholder:"DSN"`
	Cluster    string   `name:"clickhouse-cluster" help:"Name of the ClickHouse cluster, for replicated tables on all of its nodes, and tables that read all of its shards." placeholder:"NAME"`
	Plain      bool     `name:"unreplicated" help:"The shards of the cluster are single servers: plain tables, on the one server that the DSN names. Needs no Keeper."`
	Archives   []secret `name:"archive" help:"Buckets to create if they are missing, in the form of \"preismon query\"." placeholder:"PLACE"`
}

func (c *migrateCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	_, err := parseDSN(c.ClickHouse.Secret)
	form := schema.Options{Cluster: c.Cluster, Unreplicated: c.Plain}
	if done, err := c.only(k, std.out, faulty(err, form.Validate(), archiveFlags{Archives: c.Archives}.faults())); done {
		return err
	}
	if err := schema.Migrate(ctx, c.ClickHouse.Reveal(), form); err != nil {
		return err
	}
	log.Info("schema is up to date", "version", schema.Version())
	fmt.Fprintf(std.out, "The schema is at version %d.\n", schema.Version())
	if c.Cluster != "" {
		fmt.Fprintf(std.out, "The tables over all shards are there: %s.\n", strings.Join(schema.OverShards(), ", "))
	}
	return c.buckets(ctx)
}

// buckets creates those that are missing.
func (c *migrateCmd) buckets(ctx context.Context) error {
	for _, place := range c.Archives {
		p, err := parseArchive(place.Secret)
		if err != nil {
			return err
		}
		if p.dir != "" {
			continue
		}
		p.s3.CreateBucket = true
		bucket, err := archive.NewS3(p.s3)
		if err != nil {
			return err
		}
		if err := errors.Join(bucket.EnsureBucket(ctx), bucket.Close()); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"context"

	"preismon/ingest"
	"preismon/projector"
	"preismon/projector/clickhouse"
)

// driven is a projector with its running consumer loop.
type driven struct {
	consumer  *ingest.Consumer
	projector *projector.Projector
	over      context.Context // ends with the loop
	stop      func() error
}

// drive starts to apply the streams to the tables of a pool.
func (r *rebuilding) drive(ctx context.Context, pool *clickhouse.Pool, fence uint64, c ingest.ConsumerConfig) (*driven, error) {
	cfg := projector.DefaultConfig()
	cfg.Partition, cfg.Partitions = r.share.Partition, r.share.Partitions
	cfg.Fence, cfg.Logger = fence, r.log
	r.pairs.set(&cfg)
	if pool == r.old { // its readers are those of the service
		var err error
		if cfg.Readers, err = r.share.readers(r.bus, 0, r.log); err != nil {
			return nil, err
		}
	}
	proj, err := projector.New(cfg, pool)
	if err != nil {
		return nil, err
	}
	c.Partition, c.Partitions = r.share.Partition, r.share.Partitions
	consumer, err := ingest.NewConsumer(c, r.bus.js, proj, r.log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	over, ended := context.WithCancel(context.Background())
	var result error
	go func() {
		defer ended()
		result = consumer.Run(ctx)
	}()
	return &driven{consumer, proj, over, func() error {
		cancel()
		<-over.Done()
		return result
	}}, nil
}

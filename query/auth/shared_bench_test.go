package auth_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

// BenchmarkRead counts requests of one account and of ever new ones, in the
// memory of one node and shared with others.
func BenchmarkRead(b *testing.B) {
	limits := auth.ThrottleDefaults()
	alone := must.Get(auth.NewThrottle(limits, time.Now))(b)
	nc := must.Get(nats.Connect(testserver.NATS(b)))(b)
	defer nc.Close()
	js := must.Get(jetstream.New(nc))(b)
	shared := must.Get(auth.NewSharedThrottle(limits, auth.SharedDefaults(), js, slog.New(slog.DiscardHandler), time.Now))(b)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- shared.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	for {
		if stream, err := js.Stream(ctx, "KV_"+auth.SharedDefaults().Bucket); err == nil && stream.CachedInfo().State.LastSeq > 0 {
			break
		}
		_, _ = shared.Read(1)
		time.Sleep(time.Millisecond)
	}
	account := contracts.AccountID(2)
	for name, throttle := range map[string]*auth.Throttle{"alone": alone, "shared": shared} {
		b.Run(name+"/600 of each account", func(b *testing.B) {
			for i := range b.N {
				if i%600 == 0 {
					account++
				}
				must.Get(throttle.Read(account))(b)
			}
		})
		b.Run(name+"/one of each account", func(b *testing.B) {
			for range b.N {
				account++
				must.Get(throttle.Read(account))(b)
			}
		})
	}
}

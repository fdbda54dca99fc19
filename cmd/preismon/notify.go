package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/cmd/preismon/notify"
)

type notifyCmd struct {
	remoteFlags
	Rules string        `arg:"" help:"The rules file, YAML." placeholder:"FILE"`
	State string        `help:"File that keeps how far each target has got. Default: ${default}." default:"notify.state" env:"-" placeholder:"FILE"`
	Every time.Duration `help:"How often new alerts are requested. Default: ${default}." default:"10s" env:"-"`

	AdminListen string `help:"Address of /livez, /readyz, /metrics and pprof; without it there is none." env:"-" placeholder:"HOST:PORT"`

	Once  bool `help:"Deliver what there is, trying each target once, and exit." env:"-"`
	Check bool `help:"Check the rules file and print what would be done, but do nothing." env:"-"`
}

func (c *notifyCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	file, err := notify.Load(c.Rules)
	if err != nil {
		return faulty(err)
	}
	if c.Every < time.Second {
		return faulty(fmt.Errorf("every: %s, at least 1s", c.Every))
	}
	if c.Check {
		for _, line := range file.Plan() {
			fmt.Fprintln(std.out, line)
		}
		return nil
	}
	stats := &notify.Stats{}
	end, err := c.observed(file, stats, log)
	if err != nil {
		return err
	}
	c.patience = notify.Patience
	err = notify.Run(ctx, notify.Config{
		File: file, State: c.State, Every: c.Every, Once: c.Once, Log: log, Stats: stats,
		Connect: func() (*client.Client, error) {
			r, err := c.connect(std)
			if err != nil {
				return nil, err
			}
			return r.Client, nil
		},
	})
	return errors.Join(err, end())
}

// observed serves what the run does on the admin surface, if one is requested,
// until end is called.
func (c *notifyCmd) observed(file *notify.File, stats *notify.Stats, log *slog.Logger) (end func() error, err error) {
	if c.AdminListen == "" {
		return func() error { return nil }, nil
	}
	if err := address("admin-listen", c.AdminListen); err != nil {
		return nil, faulty(err)
	}
	listener, err := listen("admin-listen", c.AdminListen)
	if err != nil {
		return nil, err
	}
	l, a := newLifecycle(log), newAdmin()
	for name := range file.Targets {
		of := func() notify.TargetStats { return stats.Targets()[name] }
		a.counter("preismon_notify_delivered_total", "Alerts that the target accepted.", func() uint64 { return of().Delivered }, "target", name)
		a.counter("preismon_notify_retried_total", "Failed delivery attempts.", func() uint64 { return of().Retried }, "target", name)
		a.counter("preismon_notify_given_up_total", "Alerts that the target did not accept within its giveUpAfter.", func() uint64 { return of().GivenUp }, "target", name)
		a.counter("preismon_notify_unread_total", "Failed requests to the service.", func() uint64 { return of().Unread }, "target", name)
		a.gauge("preismon_notify_held_seconds", "How long delivery of the first waiting alert has been tried; 0: none is waiting.", func() float64 {
			if since := of().HeldSince; !since.IsZero() {
				return time.Since(since).Seconds()
			}
			return 0
		}, "target", name)
	}
	a.serve(l, listener)
	log.Info("notify runs", "admin", listener.Addr().String())
	return func() error { return l.stop(notifyGrace) }, nil
}

// notifyGrace is for answers still being sent when a run ends.
const notifyGrace = time.Second

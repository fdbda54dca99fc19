package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/cmd/preismon/notify"
)

type notifyCmd struct {
	Remote remoteFlags   `embed:""`
	Rules  string        `arg:"" help:"The rules file, YAML." placeholder:"FILE"`
	State  string        `help:"File that keeps how far each target is. Default: ${default}." default:"notify.state" env:"-" placeholder:"FILE"`
	Every  time.Duration `help:"From one look to the next. Default: ${default}." default:"10s" env:"-"`
	Once   bool          `help:"Deliver what there is, trying each target once, and end." env:"-"`
	Check  bool          `help:"Check the rules file, say what would be done, and do nothing." env:"-"`
}

// Help implements kong.HelpProvider.
func (notifyCmd) Help() string {
	return `Delivers the alerts of a rules file to webhooks and commands: each at least once, and to a target in order. A rule begins at the first run; a later run goes on where the file of --state ends, so that an outage is made up for. A target that fails is tried again until it takes the alert, and holds no other one up.

Examples:

  preismon notify --check rules.yaml
  preismon notify --state /var/lib/preismon/notify.state rules.yaml`
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
	return notify.Run(ctx, notify.Config{
		File: file, State: c.State, Every: c.Every, Once: c.Once, Log: log,
		Connect: func() (*client.Client, error) {
			r, err := c.Remote.connect(std)
			if err != nil {
				return nil, err
			}
			return r.Client, nil
		},
	})
}

package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"preismon/cmd/preismon/client"
)

// Config configures what is delivered, and how alerts are read.
type Config struct {
	File  *File
	State string // the file of positions
	// Connect returns a client of its own for each target, with Patience, and a
	// new one after its token has expired.
	Connect func() (*client.Client, error)
	Every   time.Duration // from one check to the next
	Once    bool          // stop when everything there is has been delivered
	Log     *slog.Logger
	Stats   *Stats // nil: the counts are not published
	// Wait and Now are the clock; nil: that of the system. Tests replace them.
	Wait func(context.Context, time.Duration) error
	Now  func() time.Time
}

// Patience is how long a request for alerts may wait, so that the other rules of
// a target have their turn. A rate limit ends within that time.
const Patience = time.Minute

// Run delivers until ctx ends or, with Once, until everything is delivered;
// targets are independent of each other. A delivery in progress is completed
// first. With Once, the error names the targets to which not everything could be
// delivered, each tried one time.
func Run(ctx context.Context, cfg Config) error {
	lock, err := lockState(cfg.State)
	if err != nil {
		return err
	}
	defer lock.Close() //nolint:errcheck // there is nothing left to do
	s, err := openState(cfg.State)
	if err != nil {
		return err
	}
	if cfg.Wait == nil {
		cfg.Wait = client.Sleep
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Stats == nil {
		cfg.Stats = &Stats{}
	}
	var all sync.WaitGroup
	targets := sorted(cfg.File.Targets)
	errs := make([]error, len(targets))
	for i, name := range targets {
		t := cfg.File.Targets[name]
		r := &route{Config: cfg, state: s, target: name, deliver: cfg.File.deliver(t), log: cfg.Log.With("target", name)}
		r.giveUp, _ = time.ParseDuration(string(t.GiveUpAfter)) // was checked
		cfg.Stats.count(name, func(*TargetStats) {})
		for _, rule := range cfg.File.Rules {
			if slices.Contains(rule.Targets, name) {
				r.rules = append(r.rules, rule)
			}
		}
		all.Go(func() { errs[i] = r.run(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// route delivers to one target.
type route struct {
	Config
	state   *state
	target  string
	rules   []Rule
	deliver deliver
	giveUp  time.Duration // 0: never
	log     *slog.Logger

	client  *client.Client
	stopped map[string]bool // rules that do not continue
}

func (r *route) run(ctx context.Context) error {
	r.stopped = map[string]bool{}
	defer func() {
		n := r.Stats.Targets()[r.target]
		r.log.Info("notify ends", "delivered", n.Delivered, "retried", n.Retried, "given_up", n.GivenUp)
	}()
	for failed := 0; ; {
		var errs []error
		for _, rule := range r.rules {
			if r.stopped[rule.Name] {
				continue
			}
			look := r.follow
			if rule.ofSites() {
				look = r.silence
			}
			if err := look(ctx, rule); err != nil {
				errs = append(errs, fmt.Errorf("%s to %s: %w", rule.Name, r.target, err))
			}
			if ctx.Err() != nil {
				if r.Once { // not all that fired was delivered
					return context.Cause(ctx)
				}
				return nil
			}
		}
		if r.Once {
			return errors.Join(errs...)
		}
		pause := r.Every
		if len(errs) > 0 {
			pause = max(pause, client.Backoff(failed))
			failed++
			r.Stats.count(r.target, func(n *TargetStats) { n.Unread++ })
			r.log.Warn("alerts not read", "error", errors.Join(errs...).Error(), "wait", pause)
		} else {
			failed = 0
		}
		if r.Wait(ctx, pause) != nil {
			return nil
		}
	}
}

// follow delivers what fired since the position of a rule.
func (r *route) follow(ctx context.Context, rule Rule) error {
	key, params := rule.Name+"/"+r.target, rule.params()
	at := r.state.at(key)
	if at.Token != "" && at.Params != params.Encode() {
		r.log.Warn("the rule is another one now: it begins again", "rule", rule.Name)
		at = position{}
	}
	at.Params = params.Encode()
	for {
		c, err := r.connected()
		if err != nil {
			return err
		}
		found, err := c.Alerts(ctx, at.Token, params, 0)
		switch {
		case client.Expired(err):
			r.client = nil // a new login may have happened since
			return err
		case client.Restart(err) && at.Token != "":
			r.log.Error("the feed cannot be continued: alerts may have been missed", "rule", rule.Name, "reason", err.Error(), "then", rule.whenLost())
			if rule.whenLost() == "stop" {
				r.stopped[rule.Name] = true
				return err
			}
			at = position{Params: at.Params}
			continue
		case err != nil:
			return err
		}
		if err := r.page(ctx, rule, key, &at, found); err != nil {
			return err
		}
		if at.Token != found.Progress.Token || at.After != "" {
			at.Token, at.After = found.Progress.Token, ""
			if err := r.state.keep(key, at); err != nil {
				return err
			}
		}
		if found.Progress.UpToDate {
			return nil
		}
	}
}

// connected returns the client of the target.
func (r *route) connected() (_ *client.Client, err error) {
	if r.client == nil {
		r.client, err = r.Connect()
	}
	return r.client, err
}

func (r Rule) whenLost() string {
	return cmp.Or(r.WhenLost, "begin")
}

// page delivers the alerts of a page, except those that were delivered before.
func (r *route) page(ctx context.Context, rule Rule, key string, at *position, found *client.Changes) error {
	messages := make([]message, len(found.Data))
	for i, raw := range found.Data {
		var err error
		if messages[i], err = newMessage(rule.Name, raw); err != nil {
			return err
		}
	}
	// If that message is no longer there, because the reference prices changed,
	// all are delivered again.
	done := slices.IndexFunc(messages, func(m message) bool { return at.After != "" && m.ID == at.After })
	for _, m := range messages[done+1:] {
		if err := r.hand(ctx, rule, m); err != nil {
			return err
		}
		at.After = m.ID
		if err := r.state.keep(key, *at); err != nil {
			return err
		}
	}
	return nil
}

// heldEvery is how often it is logged that an alert holds up the later ones.
const heldEvery = time.Hour

// hand delivers a message, however long that takes, or, after the target's time
// limit, writes it into the log and returns.
func (r *route) hand(ctx context.Context, rule Rule, m message) error {
	began, said := r.Now(), r.Now()
	r.Stats.count(r.target, func(n *TargetStats) { n.HeldSince = began })
	defer r.Stats.count(r.target, func(n *TargetStats) { n.HeldSince = time.Time{} })
	for try := 0; ; try++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), deliveryLimit)
		err := r.deliver(attempt, m)
		cancel()
		if err == nil {
			r.Stats.count(r.target, func(n *TargetStats) { n.Delivered++ })
			r.log.Info("alert delivered", "rule", rule.Name, "id", m.ID, "tries", try+1)
			return nil
		}
		if r.Once {
			return fmt.Errorf("alert %s: %w", m.ID, err)
		}
		r.Stats.count(r.target, func(n *TargetStats) { n.Retried++ })
		held := r.Now().Sub(began)
		if r.giveUp > 0 && held >= r.giveUp {
			r.Stats.count(r.target, func(n *TargetStats) { n.GivenUp++ })
			r.log.Error("alert given up: the target did not take it", "rule", rule.Name, "id", m.ID, "error", err.Error(), "tried", held, "alert", string(m.Body))
			return nil
		}
		if r.Now().Sub(said) >= heldEvery {
			said = r.Now()
			r.log.Error("an alert that the target does not take holds the later ones up", "rule", rule.Name, "id", m.ID, "error", err.Error(), "tried", held)
		}
		pause := client.Backoff(try)
		if l, ok := errors.AsType[later](err); ok {
			pause = max(pause, l.after)
		}
		r.log.Warn("alert not delivered", "rule", rule.Name, "id", m.ID, "error", err.Error(), "wait", pause)
		if err := r.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

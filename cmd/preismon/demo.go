package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"preismon/archive"
	"preismon/contracts"
	"preismon/contracts/atomicfile"
	"preismon/contracts/event"
	"preismon/deploy/embedded"
	"preismon/ingest"
	"preismon/ingest/market"
)

// demoFlags shape the simulated market of a new folder. A folder keeps the
// market it started with.
type demoFlags struct {
	Seed  uint64  `name:"demo-seed" aliases:"seed" help:"Seed of the market; the logins depend on it." default:"1"`
	Scale float64 `name:"demo-scale" help:"Size of the market: 1 gives about one million rows in 14 days." default:"1"`
	Speed int     `name:"demo-speed" aliases:"speed" help:"Captures per second in addition to the crawl runs." default:"2"`
}

// faults is not called Validate, otherwise kong would call it and report only its faults.
func (f demoFlags) faults() error {
	if f.Scale == 0 { // 0 would mean the market's default
		return errors.New("demo-scale: not positive")
	}
	return market.Config{Seed: f.Seed, Scale: f.Scale, LiveRate: f.rate(), Now: time.Now()}.Validate()
}

// rate is the speed in the market's terms, where 0 means the default and -1 none.
func (f demoFlags) rate() int { return cmp.Or(f.Speed, -1) }

// demoState is what a folder remembers about its market.
type demoState struct {
	Seed  uint64    `json:"seed"`
	Scale float64   `json:"scale"`
	Start time.Time `json:"start"` // of the market's history
	// Published: every event produced before it is in the streams.
	Published time.Time `json:"published"`
}

const (
	demoStateFile    = "demo.json"
	demoAccountsFile = "demo-accounts.json"
	demoDays         = market.DefaultDays * 24 * time.Hour
	saveEvery        = 5 * time.Second
)

// demo fills the folder up to now, shows the welcome page, and keeps the market
// running as a part of the lifecycle.
func (c *upCmd) demo(ctx context.Context, l *lifecycle, dir *embedded.DataDir, proj *projection, artifacts archive.Store, p upParts, adminURL string) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	d, err := openDemo(c.Demo, dir, now, p.log)
	if err != nil {
		return err
	}
	if d.publisher, err = watchedPublisher(proj.bus, p.admin, p.traces, p.log); err != nil {
		return err
	}
	if err := d.begin(ctx, l, artifacts, p.std, now); err != nil {
		return err
	}
	if err := proj.caughtUp(ctx); err != nil {
		return err
	}
	if err := d.write(demoAccountsFile, d.market.Accounts()); err != nil {
		return err
	}
	welcome(p.std.out, page{
		url: p.url, admin: adminURL, dir: c.DataDir, market: d.market.Describe(), accounts: d.market.Accounts(),
		accountsFile: dir.Join(demoAccountsFile),
	})
	l.run("demo market", func(ctx context.Context) error { return d.live(ctx, now) })
	return nil
}

// openDemo starts the market of a folder, or continues it.
func openDemo(f demoFlags, dir *embedded.DataDir, now time.Time, log *slog.Logger) (*demo, error) {
	start := now.Add(-demoDays)
	state := demoState{Seed: f.Seed, Scale: f.Scale, Start: start, Published: start}
	text, err := os.ReadFile(dir.Join(demoStateFile))
	if err == nil {
		state = demoState{}
		if err := json.Unmarshal(text, &state); err != nil {
			return nil, fmt.Errorf("%s: %w", dir.Join(demoStateFile), err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	m, err := market.New(market.Config{Seed: state.Seed, Scale: state.Scale, Now: now, Start: state.Start, LiveRate: f.rate()})
	if err != nil {
		return nil, err
	}
	d := &demo{market: m, state: state, dir: dir, log: log}
	return d, d.write(demoStateFile, d.state) // a fill that is killed continues with the market it started
}

// begin stores the market's files, unless artifacts is nil, and publishes
// everything up to now. The publisher must be set.
func (d *demo) begin(ctx context.Context, l *lifecycle, artifacts archive.Store, std streams, now time.Time) error {
	l.defers("demo publisher", func(context.Context) error { d.publisher.Close(); return nil })
	if artifacts != nil {
		if err := d.artifacts(ctx, artifacts); err != nil {
			return err
		}
	}
	return d.fill(ctx, std, now)
}

// write writes a file of the folder.
func (d *demo) write(name string, content any) error {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(d.dir.Join(name), append(text, '\n'))
}

// demoAccounts returns the file with the logins of the folder's market, empty if
// there is none or it has not been filled.
func demoAccounts(dir *embedded.DataDir) string {
	for _, name := range []string{demoStateFile, demoAccountsFile} {
		if _, err := os.Stat(dir.Join(name)); err != nil {
			return ""
		}
	}
	return dir.Join(demoAccountsFile)
}

// demo publishes the market.
type demo struct {
	market    *market.Market
	state     demoState
	dir       *embedded.DataDir
	log       *slog.Logger
	publisher *ingest.Publisher
}

// artifacts stores the files of the market's archive records.
func (d *demo) artifacts(ctx context.Context, to archive.Store) error {
	for ref, content := range d.market.Artifacts() {
		folder := archive.Exports
		if ref.Import {
			folder = archive.Imports
		}
		key := archive.Key{Folder: folder, Mandate: ref.MandateID, Order: ref.OrderID, Archive: ref.ArchiveID, File: ref.Index}
		if size, err := to.Stat(ctx, key); err == nil && size == ref.SizeBytes {
			continue
		}
		if err := to.Put(ctx, archive.RefOf(key, content), bytes.NewReader(content)); err != nil {
			return fmt.Errorf("store demo file %s: %w", ref.Filename, err)
		}
	}
	return nil
}

// fill publishes the catalogue, and everything from the folder's position up to
// now. What an interrupted run published is published again with the same ids,
// and so dropped as duplicates.
func (d *demo) fill(ctx context.Context, std streams, now time.Time) error {
	for e := range d.market.Catalog() {
		if err := d.publisher.Publish(ctx, e); err != nil {
			return err
		}
	}
	volume := d.market.Volume(d.state.Published, now)
	show := newProgress(std.err, d.log, "filling the demo market", int64(volume.Rows))
	rows := int64(0)
	for e := range d.market.Observations(d.state.Published, now) {
		if err := d.publisher.Publish(ctx, e); err != nil {
			return err
		}
		rows += rowsOf(e)
		show.at(rows)
	}
	show.end()
	return d.save(ctx, now)
}

func rowsOf(e *event.Event) (n int64) {
	if batch, ok := e.Data.(*contracts.Observations); ok {
		for i := range batch.Observations {
			n += int64(batch.Observations[i].Rows())
		}
	}
	return n
}

// save records that everything before t is in the streams.
func (d *demo) save(ctx context.Context, t time.Time) error {
	if _, err := d.publisher.Flush(ctx); err != nil {
		return err
	}
	d.state.Published = t
	return d.write(demoStateFile, d.state)
}

// live publishes new captures as time passes, until ctx ends.
func (d *demo) live(ctx context.Context, from time.Time) error {
	var last time.Time // ProducedAt of the newest event published
	saved := time.Now()
	for e := range d.market.Live(ctx, from) {
		if err := d.publisher.Publish(ctx, e); err != nil {
			if ctx.Err() != nil {
				break
			}
			return err
		}
		if e.Kind != event.KindObservations { // an order may be published before the second that it was produced at
			continue
		}
		last = e.ProducedAt
		if time.Since(saved) > saveEvery {
			saved = time.Now()
			if err := d.save(ctx, e.ProducedAt); err != nil && ctx.Err() == nil {
				d.log.Warn("demo market cannot save its place", "error", err)
			}
		}
	}
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveEvery)
	defer cancel()
	if !last.IsZero() {
		return d.save(flush, last)
	}
	return nil
}

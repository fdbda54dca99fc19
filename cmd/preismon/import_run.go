package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"text/tabwriter"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/contracts/fault"
	"preismon/deploy/embedded"
	"preismon/ingest"
	"preismon/ingest/maps"
)

// importRun is a run of the import: of one file or several.
type importRun struct {
	*importCmd
	std     streams
	log     *slog.Logger
	dir     string // for what is unpacked
	mapping *maps.Mapping
	memory  *maps.Memory

	bus     *bus // nil: nothing is published
	pub     *publishing
	account maps.Request // for the account of the login
	read    uint64       // the last sequence of CATALOG before it was read
	warned  bool         // of what the stream no longer has
}

// importedFile is the result of importing a file.
type importedFile struct {
	importFile
	*maps.Summary
	rejects string // file of its rejected rows; empty: there are none
}

// all imports files as one: they are read by one mapping, and reported together.
func (r *importRun) all(ctx context.Context, files []importFile, cfg ingest.Config) error {
	if !r.DryRun {
		if err := r.open(ctx, cfg); err != nil && ctx.Err() != nil {
			return interrupted(ctx)
		} else if err != nil {
			return err
		}
		defer r.close()
	}
	start := time.Now()
	var done []importedFile
	accepted, rejected := 0, 0
	var failed error
	for _, f := range files {
		one, err := r.one(ctx, f, len(files) > 1)
		if one != nil && one.Rows > 0 { // there is nothing to report about a file that cannot be read
			done = append(done, *one)
			accepted, rejected = accepted+one.Accepted, rejected+one.Rejected
		}
		if err != nil {
			failed = err
			if len(files) > 1 {
				failed = fmt.Errorf("%s: %w", f.Name, err)
			}
			break
		}
	}
	if err := r.report(done); err != nil {
		return err
	}
	if !r.DryRun && (failed == nil || accepted > 0 && ctx.Err() == nil) { // also what the files before it published
		failed = errors.Join(failed, r.flush(ctx, start, accepted))
	}
	if failed != nil {
		return failed
	}
	return r.end(done, accepted, rejected)
}

// interrupted says how to continue.
func interrupted(ctx context.Context) error {
	return fmt.Errorf("%w; run it again to continue; nothing is duplicated", context.Cause(ctx))
}

// one imports a file, or only checks it.
func (r *importRun) one(ctx context.Context, f importFile, several bool) (*importedFile, error) {
	rejects := rejectsOf(r.Rejects, f.label, several)
	defer rejects.Close()
	req := maps.Request{
		File: f.Path, Mapping: f.Mapping(r.mapping), Label: f.orders, Mandate: r.Mandate, Login: r.Login, Rejects: rejects,
		PasswordHash: r.account.PasswordHash, Known: r.account.Known,
		Progress: r.progress(r.std, r.log), AddConflicts: r.Conflicts == "add", Memory: r.memory, Changes: r.Folder != "",
	}
	var summary *maps.Summary
	var err error
	if r.pub == nil {
		summary, err = maps.Check(ctx, req)
	} else {
		req.Published = func(site contracts.SiteKey, since time.Time) iter.Seq2[*contracts.Observations, error] {
			return r.imported(ctx, site, since)
		}
		req.Standing = r.standing
		summary, err = maps.Import(ctx, req, r.publish)
		if ctx.Err() != nil {
			return nil, interrupted(ctx)
		}
	}
	if r.Folder != "" && retriable(err) {
		return nil, errors.Join(err, rejects.remove()) // the next try writes them again
	}
	if summary == nil {
		return nil, err
	}
	one := &importedFile{importFile: f, Summary: summary}
	if summary.Rejected > 0 {
		one.rejects = rejects.name
	}
	return one, errors.Join(err, rejects.Close())
}

// open connects, and finds the account of the login before anything is published.
func (r *importRun) open(ctx context.Context, cfg ingest.Config) (err error) {
	if r.bus, err = connect(cfg); err != nil {
		return err
	}
	if err = r.importCmd.account(ctx, r.bus, r.std, &r.account); err == nil {
		r.pub, err = r.Watch.open(r.bus, r.log)
	}
	if err != nil {
		r.bus.conn.Close()
	}
	return err
}

// publish publishes an event. An order that was changed since the catalogue was
// read is a fault.Conflict: it would be as it was before. A site that was changed
// since stays as it is.
func (r *importRun) publish(ctx context.Context, e *event.Event) error {
	if e.Kind != event.KindOrder && e.Kind != event.KindSite {
		return r.pub.Publish(ctx, e)
	}
	err := r.pub.PublishAfter(ctx, r.read, e)
	switch {
	case !errors.Is(err, ingest.ErrOvertaken):
		return err
	case e.Kind == event.KindSite:
		return nil
	}
	return fault.Wrap(err, fault.Conflict, "an order was changed during the import; import the file again, nothing is duplicated")
}

func (r *importRun) close() {
	r.pub.close()
	r.bus.conn.Close()
}

// flush waits until everything is published and in the tables.
func (r *importRun) flush(ctx context.Context, start time.Time, accepted int) error {
	stats, err := r.pub.Flush(ctx)
	if err != nil {
		return fmt.Errorf("%w; run it again to continue; nothing is duplicated", err)
	}
	fmt.Fprintf(r.std.err, "Published %s (%s already known) in %.1f s.\n", plural(stats.Accepted+stats.Duplicates, "event"), thousands(stats.Duplicates), time.Since(start).Seconds())
	if err := r.Applied.wait(ctx, r.bus); err != nil || !r.Applied.Wait {
		return err
	}
	all := time.Since(start)
	fmt.Fprintf(r.std.err, "Everything can be queried, %.1f s after the start (%s rows/s).\n", all.Seconds(), thousands(int64(float64(accepted)/all.Seconds())))
	return nil
}

// report prints the results of the files: in full for a single one, a line each
// for several.
func (r *importRun) report(done []importedFile) error {
	if len(done) == 1 {
		_, err := io.WriteString(r.std.out, done[0].String())
		return err
	}
	if len(done) == 0 {
		return nil
	}
	var sum maps.Summary
	t := tabwriter.NewWriter(r.std.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name string, s *maps.Summary) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t  %s\n", thousands(s.Rows), thousands(s.Accepted), thousands(s.Known), thousands(s.Rejected), thousands(s.Observations), printable(name, ""))
	}
	fmt.Fprintln(t, "ROWS\tACCEPTED\tKNOWN\tREJECTED\tOBSERVATIONS\t  FILE")
	for _, f := range done {
		line(f.Name, f.Summary)
		sum.Rows, sum.Accepted, sum.Known = sum.Rows+f.Rows, sum.Accepted+f.Accepted, sum.Known+f.Known
		sum.Rejected, sum.Observations = sum.Rejected+f.Rejected, sum.Observations+f.Observations
	}
	line(plural(len(done), "file"), &sum)
	return t.Flush()
}

// urlFlag returns the flag that login needs to find the server of the data folder;
// empty: it needs none, or only the streams are known.
func (r *importRun) urlFlag() string {
	if r.Bus.DataDir == "" {
		return ""
	}
	running, err := embedded.ReadRuntime(r.Bus.DataDir)
	if err != nil || running.APIURL == localServer {
		return ""
	}
	return "--url " + running.APIURL + " "
}

// end prints what to do next.
func (r *importRun) end(done []importedFile, accepted, rejected int) error {
	if !r.DryRun && accepted > 0 {
		newest := slices.MaxFunc(done, func(a, b importedFile) int { return a.Last.Compare(b.Last) })
		fmt.Fprintf(r.std.err, "The newest price is of %s. Look at them: preismon login %s--login %s, then preismon results --site %s --from %s\n",
			newest.Last.Format(time.RFC3339), r.urlFlag(), newest.Login, newest.Sites[0].Site, newest.Last.Format(time.DateOnly))
	}
	for _, f := range done {
		if r.Conflicts == "reject" && slices.ContainsFunc(f.RejectedBy, func(c maps.Count) bool { return c.What == maps.ImportedOtherwise }) {
			fmt.Fprintln(r.std.err, "What was imported is never changed: --conflicts add keeps the earlier price in the history, too. To be without it, import the corrected files into a new data folder.")
			break
		}
	}
	for _, f := range done {
		if f.rejects != "" {
			fmt.Fprintf(r.std.err, "The rejected rows and their reasons are in %s.\n", f.rejects)
		}
	}
	if rejected > 0 {
		return errRejected
	}
	return nil
}

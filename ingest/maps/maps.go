// Package maps turns any CSV of observed prices into events. A mapping file
// (YAML) names the columns; Import reads the file twice: once to learn sites,
// items and faults, once to publish observations.
//
// Its caller is `preismon import`, which passes the function that publishes.
// Every row of the file becomes an offer of an observation, or is rejected by
// line with a reason; Import counts both and returns an error if they do not
// add up. The same file with the same mapping results in the same ids of
// observations, whenever it is read; what earlier imports published is not
// published again.
// Memory grows with sites and products, not with rows (see rowsInMemory), and
// by 8 bytes for each observation that was published since the first capture of
// the file, and 16 for each of its rows. Package maps knows no server, and
// checks only form and identity: whether a price is plausible is outside its
// scope.
package maps

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/contracts/fault"
)

// Request describes what to import, and for which mandate.
type Request struct {
	File    string   // a .csv, plain or compressed by gzip or zstd
	Mapping *Mapping // from ParseMapping or Builtin

	// Label distinguishes the orders of one file from those of another with the
	// same mandate and mapping. Empty: the file's name without its extensions.
	Label        string
	Mandate      string // the mandate's name; its id is derived from it
	Login        string // the account's login identifier
	PasswordHash string // of a new account: argon2id in PHC form
	// Known is the account of the login, if there is one: it stays unchanged.
	Known *contracts.Account

	// Standing returns what the catalogue holds, and is called once the file is
	// read: only items for which wanted is true are needed. nil: it is empty.
	Standing func(ctx context.Context, wanted func(contracts.ItemID) bool) (*Standing, error)

	// Published returns what earlier imports published; nil: nothing.
	Published Published
	// Memory keeps that from one import of a run to the next; may be nil.
	Memory *Memory
	// AddConflicts also publishes what contradicts an earlier import; otherwise
	// such rows are rejected.
	AddConflicts bool
	// Changes requests the prices that change through what is published.
	Changes bool

	Rejects  io.Writer        // receives one JSON object per rejected row; nil: counted only
	Progress func(Progress)   // called from time to time, and at the end of each pass; may be nil
	Now      func() time.Time // nil: time.Now
}

// Progress is how far an import has come.
type Progress struct {
	Pass       int // 1: reading, 2: publishing
	Bytes      int64
	TotalBytes int64 // of the file as stored on disk, times the rounds of the pass
}

// Publish publishes one event. The event is not modified afterwards, so that it
// may be sent in the background. Events come in this order: sites, mandate,
// account, items, orders, observations.
type Publish func(ctx context.Context, e *event.Event) error

// Validate returns every fault of the request.
func (r *Request) Validate() error {
	var f contracts.Faults
	f.Check(r.File != "", "file: missing")
	f.Check(r.Mapping != nil, "mapping: missing")
	f.Check(strings.TrimSpace(r.Mandate) != "", "mandate: missing")
	f.Check(strings.TrimSpace(r.Login) != "", "login: missing")
	f.Check(r.PasswordHash != "" || r.Known != nil, "password: missing")
	if err := f.Err(); err != nil {
		return &fault.Error{Kind: fault.Invalid, Msg: strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	return nil
}

// Check reads the whole file as Import does and publishes nothing. The request
// needs no mandate, login or password hash.
func Check(ctx context.Context, r Request) (*Summary, error) {
	if r.File == "" || r.Mapping == nil {
		return nil, fault.New(fault.Invalid, "", "file, mapping: missing")
	}
	return run(ctx, r, nil, rowsInMemory)
}

// Import reads the file and publishes its content. The summary is returned with
// an error too, as far as the import got, unless the file could not be opened.
// A file that cannot be read is Invalid; rejected rows are not an error. After
// an error r.Memory is empty: what had been published by then must be read
// again.
func Import(ctx context.Context, r Request, publish Publish) (*Summary, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	sum, err := run(ctx, r, publish, rowsInMemory)
	if err != nil && r.Memory != nil {
		clear(r.Memory.sites)
	}
	return sum, err
}

// importer is one import.
type importer struct {
	Request
	now     time.Time
	publish Publish // nil: check only
	limit   int     // rows held in memory at once
	book    *book
	tally   *tally
	sum     *Summary
	known   map[contracts.SiteKey]*known

	standing *Standing
	ownSite  bool // columns.site.value contains {mandate}
}

func run(ctx context.Context, r Request, publish Publish, limit int) (*Summary, error) {
	if r.Now == nil {
		r.Now = time.Now
	}
	r.Label = cmp.Or(r.Label, Label(r.File))
	r.Memory = cmp.Or(r.Memory, NewMemory())
	r.Login = strings.ToLower(strings.TrimSpace(r.Login))
	r.Mandate = strings.TrimSpace(r.Mandate)
	ownSite := strings.Contains(r.Mapping.Columns.Site.Value, ofMandate)
	r.Mapping = r.Mapping.For(r.Mandate)
	im := &importer{
		Request: r, now: r.Now().UTC().Truncate(time.Millisecond), publish: publish, limit: limit,
		tally: newTally(r.Rejects), known: r.Memory.sites, standing: &Standing{}, ownSite: ownSite,
		sum: &Summary{File: filepath.Base(r.File), Source: r.Mapping.Source, Label: r.Label, Mandate: r.Mandate, Login: r.Login},
	}
	im.book = newBook(r.Mapping, im.now, im.tally)

	before, err := os.Stat(r.File)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the file cannot be opened")
	}
	if im.book.at, err = r.Mapping.Columns.CapturedAt.ofFile(r.File); err != nil {
		return nil, err
	}
	start := r.Now()
	if err := im.read(ctx); err != nil {
		return im.finish(), err
	}
	if im.sum.Rows == 0 {
		return im.finish(), errNoRows
	}
	im.sum.ReadTime = r.Now().Sub(start)

	start = r.Now()
	if publish != nil {
		if err := im.publishCatalog(ctx); err != nil {
			return im.finish(), err
		}
	}
	if err := im.publishObservations(ctx); err != nil {
		return im.finish(), err
	}
	im.sum.PublishTime = r.Now().Sub(start)
	for key, k := range im.known {
		k.settle()
		if s := im.book.byKey[key]; s != nil { // otherwise it is a site of an earlier file of the run
			im.sum.Changes = append(im.sum.Changes, s.named(k.newest.arrive(k.arrived, key))...)
			clear(k.arrived)
		}
	}
	sortChanges(im.sum.Changes)

	after, err := os.Stat(r.File)
	if err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return im.finish(), errChanged
	}
	sum := im.finish()
	if sum.Accepted+sum.Rejected != sum.Rows {
		return sum, fmt.Errorf("maps: %d rows read, but %d accepted and %d rejected", sum.Rows, sum.Accepted, sum.Rejected)
	}
	if err := im.tally.err; err != nil {
		return sum, fmt.Errorf("write rejected rows: %w", err)
	}
	return sum, nil
}

var (
	errNoRows  = fault.New(fault.Invalid, "", "the file has a header and no rows")
	errChanged = fault.New(fault.Conflict, "", "the file changed while it was read; import it again when it is complete")
)

// read is the first pass: it learns sites, items and pairs, and rejects what
// can be rejected from a single row.
func (im *importer) read(ctx context.Context) error {
	in, err := im.open(ctx, 1, 0, 1)
	if err != nil {
		return err
	}
	defer in.close()
	im.sum.columns(im.Mapping, in.header)
	var r row
	for rec, err := range in.all() {
		im.sum.Rows = in.rows
		if err != nil {
			return err
		}
		bad := rec.bad
		if bad == nil {
			if slices.ContainsFunc(rec.cells, func(s string) bool { return strings.Contains(s, "\n") }) {
				im.sum.MultiLineRows++
			}
			if bad = im.book.parse(in.cols, rec, &r); bad != nil {
				bad.Text = excerpt(rec.cells, in.comma)
			}
		}
		if bad != nil {
			im.tally.reject(*bad)
			continue
		}
		im.book.learn(&r)
	}
	return nil
}

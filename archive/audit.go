package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"golang.org/x/sync/errgroup"

	"preismon/contracts/fault"
)

// Location is an archive with its name for people.
type Location struct {
	Name  string
	Store Store
}

// AuditRequest lists the artifacts that every location must have a copy of.
type AuditRequest struct {
	Locations []Location
	Refs      iter.Seq2[Ref, error]
	Repair    bool // replace each bad copy with a good one
	// Found is called for each bad copy, in the order of Refs and Locations.
	Found func(Finding) error
	// Read is called after each batch with the bytes of all copies due so far.
	Read func(bytes int64)
}

// What is wrong with a copy.
const (
	Missing    = "missing"
	Damaged    = "damaged"    // another size or hash than in the catalogue
	Unreadable = "unreadable" // the location is available, but this copy cannot be read to its end
)

// Finding is a copy that is not what the catalogue says.
type Finding struct {
	Ref      Ref
	Location int // index in the request
	What     string
	Err      error // from reading it
	Good     int   // locations with a good copy
	Repaired bool  // replaced, read again and good
	Repair   error // why it was not repaired, if that was tried
}

// auditBatch is how many artifacts are read at the same time.
const auditBatch = 4

// Audit reads every copy of every artifact to its end and compares its SHA-256.
// A copy is repaired only from one that was just found to be good, and whose
// bytes are compared again while they are copied. A location that cannot be used
// is an error and ends the audit.
func Audit(ctx context.Context, r AuditRequest) error {
	batch, due := make([]Ref, 0, auditBatch), int64(0)
	flush := func() error {
		found := make([][]Finding, len(batch))
		group, ctx := errgroup.WithContext(ctx)
		for i, ref := range batch {
			group.Go(func() (err error) {
				found[i], err = r.one(ctx, ref)
				return err
			})
		}
		failed := group.Wait()
		for i, list := range found { // also where another artifact ended the audit: copies may have been replaced
			for _, f := range list {
				if err := r.Found(f); err != nil {
					return errors.Join(failed, err)
				}
			}
			due += batch[i].Size * int64(len(r.Locations))
		}
		if failed != nil {
			return failed
		}
		r.Read(due)
		batch = batch[:0]
		return nil
	}
	for ref, err := range r.Refs {
		if err != nil {
			return err
		}
		if batch = append(batch, ref); len(batch) == auditBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// one compares the copies of an artifact, and repairs the bad ones. With an
// error, it returns what was found if all copies had been compared by then.
func (r *AuditRequest) one(ctx context.Context, ref Ref) (found []Finding, err error) {
	var good []Location
	for i, p := range r.Locations {
		what, err := p.judge(ctx, ref)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case what == "" && err != nil:
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		case what == "":
			good = append(good, p)
		default:
			found = append(found, Finding{Ref: ref, Location: i, What: what, Err: err})
		}
	}
	for i := range found {
		f := &found[i]
		if f.Good = len(good); f.Good == 0 || !r.Repair || ctx.Err() != nil {
			continue
		}
		f.Repair = r.Locations[f.Location].repair(ctx, ref, good)
		f.Repaired = f.Repair == nil
	}
	return found, ctx.Err()
}

// judge returns what is wrong with a copy. An error with an empty what: the
// location cannot be used.
func (p Location) judge(ctx context.Context, ref Ref) (what string, err error) {
	err = confirm(ctx, p.Store, ref)
	switch {
	case err == nil:
		return "", nil
	case fault.KindOf(err) == fault.NotFound:
		return Missing, err
	case errors.Is(err, ErrCorrupt):
		return Damaged, err
	case fault.KindOf(err) == fault.Invalid: // a record that no content can match
		return Unreadable, err
	case fault.KindOf(err) == fault.Unavailable:
		if _, away := p.Store.Stat(ctx, ref.Key); fault.KindOf(away) == fault.Unavailable {
			return "", away
		}
		return Unreadable, err
	}
	return "", err
}

// repair replaces the copy in the place from the first good one that can be read
// completely, and reads it again.
func (p Location) repair(ctx context.Context, ref Ref, good []Location) error {
	var errs []error
	for _, from := range good {
		err := p.replace(ctx, ref, from)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("from %s: %w", from.Name, err))
	}
	return errors.Join(errs...)
}

func (p Location) replace(ctx context.Context, ref Ref, from Location) error {
	content, err := from.Store.Open(ctx, ref)
	if err != nil {
		return err
	}
	err = p.Store.Replace(ctx, ref, content)
	if err := errors.Join(err, content.Close()); err != nil {
		return err
	}
	return confirm(ctx, p.Store, ref)
}

// confirm reads the content of a key to its end; nil: it is that of ref.
func confirm(ctx context.Context, s Store, ref Ref) error {
	r, err := s.Open(ctx, ref)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, r.Close())
}

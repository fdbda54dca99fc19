package archive_test

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"preismon/archive"
	"preismon/contracts/fault"
)

// ending is a store with a damaged artifact and others. After it was replaced,
// and after it was read again, something happens.
type ending struct {
	archive.Store
	damaged         archive.Key
	replaced, again func()
	others          func() error // is called before another artifact is opened
}

func (e ending) Replace(ctx context.Context, ref archive.Ref, content io.Reader) error {
	err := e.Store.Replace(ctx, ref, content)
	e.replaced()
	return err
}

func (e ending) Open(ctx context.Context, ref archive.Ref) (io.ReadCloser, error) {
	if ref.Key != e.damaged {
		if err := e.others(); err != nil {
			return nil, err
		}
	}
	r, err := e.Store.Open(ctx, ref)
	return closing{r, e.again}, err
}

func (e ending) Stat(ctx context.Context, key archive.Key) (int64, error) {
	if key != e.damaged {
		if err := e.others(); err != nil {
			return 0, err
		}
	}
	return e.Store.Stat(ctx, key)
}

type closing struct {
	io.ReadCloser
	closed func()
}

func (c closing) Close() error {
	defer c.closed()
	return c.ReadCloser.Close()
}

// damaged returns two archives with the same artifacts, the first of which is
// damaged in the second.
func damaged(t *testing.T, n int) (good, bad rig, refs []archive.Ref) {
	good, bad = dirRig(t), dirRig(t)
	for i := range n {
		content := noise(10)
		ref := archive.RefOf(newKey(), content)
		put(t, good, ref, content)
		put(t, bad, ref, content)
		if i == 0 {
			bad.tamper(t, ref.Key, flipped(content, 5))
		}
		refs = append(refs, ref)
	}
	return good, bad, refs
}

// repairing runs an audit that repairs the second archive.
func repairing(ctx context.Context, good, bad archive.Store, refs []archive.Ref) (found []archive.Finding, err error) {
	err = archive.Audit(ctx, archive.AuditRequest{
		Locations: []archive.Location{{Name: "good", Store: good}, {Name: "bad", Store: bad}}, Refs: each(refs), Repair: true,
		Read: func(int64) {}, Found: func(f archive.Finding) error { found = append(found, f); return nil },
	})
	return found, err
}

// TestAuditEndsAfterRepair: a copy is repaired, and then another artifact ends
// the audit. The repair is reported.
func TestAuditEndsAfterRepair(t *testing.T) {
	good, bad, refs := damaged(t, 2)
	replaced, repaired := make(chan struct{}), make(chan struct{})
	found, err := repairing(t.Context(), good, ending{
		Store: bad, damaged: refs[0].Key,
		replaced: func() { close(replaced) },
		again: func() {
			select {
			case <-replaced:
				close(repaired)
			default: // it was found to be damaged
			}
		},
		others: func() error {
			<-repaired
			return fault.Wrap(os.ErrClosed, fault.Unavailable, "the artifact store cannot be used now")
		},
	}, refs)
	if fault.KindOf(err) != fault.Unavailable || len(found) != 1 || found[0].Ref != refs[0] || !found[0].Repaired {
		t.Errorf("%v, found %+v", err, found)
	}
}

// TestAuditStoppedAtRepair: the audit is stopped just when a copy has been
// replaced. The copy is reported.
func TestAuditStoppedAtRepair(t *testing.T) {
	good, bad, refs := damaged(t, 1)
	ctx, stop := context.WithCancel(t.Context())
	found, err := repairing(ctx, good, ending{Store: bad, damaged: refs[0].Key, replaced: stop, again: func() {}}, refs)
	if !errors.Is(err, context.Canceled) || len(found) != 1 || found[0].Ref != refs[0] || found[0].What != archive.Damaged {
		t.Errorf("%v, found %+v", err, found)
	}
}

package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"testing"

	"preismon/archive"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
)

// TestAudit: each missing or damaged copy is reported, and repaired only from a
// good one.
func TestAudit(t *testing.T) {
	for second, open := range map[string]func(testing.TB) rig{"dir": dirRig, "s3": s3Rig} {
		t.Run(second, func(t *testing.T) { testAudit(t, dirRig(t), open(t)) })
	}
}

func testAudit(t *testing.T, folder, bucket rig) {
	places := []archive.Location{{Name: "folder", Store: folder}, {Name: "bucket", Store: bucket}}
	refs, contents := make([]archive.Ref, 9), make([][]byte, 9)
	for i := range refs {
		contents[i] = noise(1000)
		if i == 6 {
			contents[i] = noise(6 * mib)
		}
		refs[i] = archive.RefOf(newKey(), contents[i])
		put(t, folder, refs[i], contents[i])
		if i != 1 && i != 3 {
			put(t, bucket, refs[i], contents[i])
		}
	}
	folder.tamper(t, refs[2].Key, flipped(contents[2], 500))
	folder.tamper(t, refs[3].Key, contents[3][1:]) // and the bucket has none
	folder.tamper(t, refs[4].Key, flipped(contents[4], 0))
	bucket.tamper(t, refs[4].Key, flipped(contents[4], 0)) // two copies with the same damage are not a good copy
	bucket.tamper(t, refs[6].Key, flipped(contents[6], 5*mib))
	type wrong struct {
		ref, place, good int
		what             string
		repaired         bool
	}
	audit := func(repair bool, places ...archive.Location) (all []wrong, read int64, err error) {
		t.Helper()
		err = archive.Audit(t.Context(), archive.AuditRequest{
			Locations: places, Repair: repair, Refs: each(refs),
			Read: func(n int64) { read = n },
			Found: func(f archive.Finding) error {
				for i := range refs {
					if refs[i] == f.Ref {
						all = append(all, wrong{i, f.Location, f.Good, f.What, f.Repaired})
					}
				}
				if f.Err == nil || (f.Repair != nil && f.Repaired) {
					t.Errorf("%+v", f)
				}
				return nil
			},
		})
		return all, read, err
	}
	want := []wrong{
		{1, 1, 1, archive.Missing, false},
		{2, 0, 1, archive.Damaged, false},
		{3, 0, 0, archive.Damaged, false},
		{3, 1, 0, archive.Missing, false},
		{4, 0, 0, archive.Damaged, false},
		{4, 1, 0, archive.Damaged, false},
		{6, 1, 1, archive.Damaged, false},
	}
	equal := func(when string, got []wrong, err error) {
		t.Helper()
		same := len(got) == len(want) && err == nil
		for i := 0; same && i < len(got); i++ {
			same = got[i] == want[i]
		}
		if !same {
			t.Errorf("%s: %v %v, want %v", when, got, err, want)
		}
	}
	for _, when := range []string{"first", "again: nothing was changed"} {
		got, read, err := audit(false, places...)
		if equal(when, got, err); read != 2*(8*1000+6*mib) {
			t.Errorf("%d bytes", read)
		}
	}
	for i := range want {
		want[i].repaired = want[i].good > 0
	}
	got, _, err := audit(true, places...)
	equal("with repair", got, err)
	want = want[2:6]
	got, _, err = audit(true, places...)
	equal("after it", got, err)
	for i, s := range map[int]archive.Store{1: bucket, 2: folder, 6: bucket} {
		if !bytes.Equal(read(t, s, refs[i]), contents[i]) {
			t.Errorf("content %d came back otherwise", i)
		}
	}
	if got := read(t, folder, refs[0]); !bytes.Equal(got, contents[0]) {
		t.Error("a good copy was changed")
	}

	// A location that is unavailable does not count as a location without files.
	gone := dirRig(t)
	must.Do(t, gone.Store.(*archive.Dir).Close())
	if got, _, err := audit(true, places[0], archive.Location{Name: "gone", Store: gone}); fault.KindOf(err) != fault.Unavailable || len(got) > 0 {
		t.Errorf("of a folder that is away: %v %v", got, err)
	}
	stop := errors.New("stop")
	if err := archive.Audit(t.Context(), archive.AuditRequest{
		Locations: places, Refs: each(refs), Read: func(int64) {}, Found: func(archive.Finding) error { return stop },
	}); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func each(refs []archive.Ref) iter.Seq2[archive.Ref, error] {
	return func(yield func(archive.Ref, error) bool) {
		for _, r := range refs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// unread cannot open any content, but reports that it is there.
type unread struct{ archive.Store }

func (u unread) Open(context.Context, archive.Ref) (io.ReadCloser, error) {
	return nil, fault.Wrap(os.ErrPermission, fault.Unavailable, "the artifact store cannot be used now")
}

// TestAuditUnreadable: a copy that cannot be read does not end an audit. It is
// written again, and counts as repaired only after it was read again.
func TestAuditUnreadable(t *testing.T) {
	first, second := dirRig(t), dirRig(t)
	content := noise(10)
	ref := archive.RefOf(newKey(), content)
	put(t, first, ref, content)
	put(t, second, ref, content)
	var found []archive.Finding
	err := archive.Audit(t.Context(), archive.AuditRequest{
		Locations: []archive.Location{{Name: "first", Store: unread{first}}, {Name: "second", Store: second}}, Refs: each([]archive.Ref{ref}), Repair: true,
		Read: func(int64) {}, Found: func(f archive.Finding) error { found = append(found, f); return nil },
	})
	if err != nil || len(found) != 1 || found[0].What != archive.Unreadable || found[0].Repaired || !errors.Is(found[0].Repair, os.ErrPermission) {
		t.Errorf("%+v %v", found, err)
	}
}

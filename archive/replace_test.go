package archive_test

import (
	"bytes"
	"io"
	"sync"
	"testing"
	"testing/iotest"

	"preismon/archive"
	"preismon/contracts/fault"
)

// testReplaced: a content replaces another or none, completely and checked, and
// concurrent readers see one or the other.
func testReplaced(t *testing.T, r rig) {
	for _, size := range []int{0, 1, 1000, 6 * mib} {
		content := noise(size)
		for name, was := range map[string][]byte{"none": nil, "shorter": {1}, "another": noise(size + 1), "the same": content} {
			ref := archive.RefOf(newKey(), content)
			if name != "none" {
				r.tamper(t, mkdir(t, r, ref.Key), was)
			}
			if err := r.Replace(t.Context(), ref, bytes.NewReader(content)); err != nil {
				t.Fatalf("%d bytes in place of %s: %v", size, name, err)
			}
			if got := read(t, r, ref); !bytes.Equal(got, content) {
				t.Errorf("%d bytes in place of %s: other content came back", size, name)
			}
			wantLeftovers(t, r, ref.Key)

			// A content that does not match its ref, or breaks off,
			// changes nothing.
			if size > 0 {
				wantErr(t, r.Replace(t.Context(), ref, bytes.NewReader(flipped(content, size-1))), fault.Invalid, nil)
			}
			wantErr(t, r.Replace(t.Context(), ref, io.MultiReader(bytes.NewReader(content[:size/2]), iotest.ErrReader(errSource))), fault.Internal, errSource)
			if got := read(t, r, ref); !bytes.Equal(got, content) {
				t.Errorf("%d bytes: a refused content has replaced the good one", size)
			}
			wantLeftovers(t, r, ref.Key)
		}
	}
	wantErr(t, r.Replace(t.Context(), archive.RefOf(archive.Key{}, nil), bytes.NewReader(nil)), fault.Invalid, nil)

	content := noise(6 * mib)
	ref := archive.RefOf(newKey(), content)
	put(t, r, ref, content)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := r.Replace(t.Context(), ref, bytes.NewReader(content)); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			o, err := r.Open(t.Context(), ref)
			if err == nil {
				_, err = io.Copy(io.Discard, o)
				_ = o.Close()
			}
			if err != nil {
				t.Errorf("a reader beside: %v", err)
			}
		})
	}
	wg.Wait()
	if got := read(t, r, ref); !bytes.Equal(got, content) {
		t.Error("after several at once other content came back")
	}
	wantLeftovers(t, r, ref.Key)
}

// mkdir creates the path to a key, in stores that have paths.
func mkdir(t *testing.T, r rig, key archive.Key) archive.Key {
	t.Helper()
	put(t, r, archive.RefOf(key, []byte("x")), []byte("x"))
	return key
}

package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"preismon/archive"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
)

const mib = 1 << 20

// rig is a store under test, with access behind its back.
type rig struct {
	archive.Store
	tamper    func(tb testing.TB, key archive.Key, content []byte) // replaces what is stored
	leftovers func(tb testing.TB, key archive.Key) int             // unfinished uploads
}

func TestStores(t *testing.T) {
	stores := map[string]func(testing.TB) rig{"dir": dirRig, "s3": s3Rig}
	suite := map[string]func(*testing.T, rig){
		"round trip":           testRoundTrip,
		"big stream":           testBigStream,
		"same again":           testPutTwice,
		"other content":        testOtherContent,
		"replaced":             testReplaced,
		"concurrent":           testConcurrent,
		"interrupted":          testInterrupted,
		"wrong content":        testWrongContent,
		"damaged":              testDamaged,
		"missing":              testMissing,
		"ranges":               testRanges,
		"wrong ranges":         testWrongRanges,
		"context":              testContext,
		"keys that are no key": testInvalidKeys,
		"check":                testCheck,
	}
	for store, open := range stores {
		t.Run(store, func(t *testing.T) {
			r := open(t)
			for name, test := range suite {
				t.Run(name, func(t *testing.T) { test(t, r) })
			}
		})
	}
}

func testRoundTrip(t *testing.T, r rig) {
	// Parts are 5 MiB: one request up to that size, several above it.
	for _, size := range []int{0, 1, 2, 4095, 5*mib - 1, 5 * mib, 5*mib + 1, 10 * mib, 10*mib + 1} {
		content := noise(size)
		ref := archive.RefOf(newKey(), content)
		put(t, r, ref, content)
		if got := read(t, r, ref); !bytes.Equal(got, content) {
			t.Errorf("%d bytes: other content came back", size)
		}
		if n, err := r.Stat(t.Context(), ref.Key); err != nil || n != int64(size) {
			t.Errorf("stat of %d bytes: %d, %v", size, n, err)
		}
		wantLeftovers(t, r, ref.Key)
	}
	// A source that ends in odd ways, and an opened artifact that is read
	// in odd ways.
	content := noise(10_000)
	ref := archive.RefOf(newKey(), content)
	must.Do(t, r.Put(t.Context(), ref, iotest.DataErrReader(iotest.HalfReader(bytes.NewReader(content)))))
	o := must.Get(r.Open(t.Context(), ref))(t)
	defer o.Close()
	must.Do(t, iotest.TestReader(o, content))
}

func testBigStream(t *testing.T, r rig) {
	const size = 64 * mib
	h := sha256.New()
	io.Copy(h, endless(size))
	ref := archive.Ref{Key: newKey(), Size: size, SHA256: hex.EncodeToString(h.Sum(nil))}

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	must.Do(t, r.Put(t.Context(), ref, endless(size)))
	o := must.Get(r.Open(t.Context(), ref))(t)
	defer o.Close()
	if n, err := io.Copy(io.Discard, o); err != nil || n != size {
		t.Fatal(n, err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 16*mib {
		t.Errorf("%d MiB in and out allocated %d MiB", size/mib, got/mib)
	}
}

func testPutTwice(t *testing.T, r rig) {
	for _, size := range []int{0, 100, 6 * mib} {
		content := noise(size)
		ref := archive.RefOf(newKey(), content)
		for range 3 {
			put(t, r, ref, content)
		}
		if got := read(t, r, ref); !bytes.Equal(got, content) {
			t.Errorf("%d bytes: other content came back", size)
		}
		// The content is checked even where nothing would be written.
		if size > 0 {
			wantErr(t, r.Put(t.Context(), ref, bytes.NewReader(content[1:])), fault.Invalid, nil)
		}
		wantErr(t, r.Put(t.Context(), ref, iotest.ErrReader(errSource)), fault.Internal, errSource)
		wantLeftovers(t, r, ref.Key)
	}
}

func testOtherContent(t *testing.T, r rig) {
	for _, size := range []int{100, 6 * mib} {
		content := noise(size)
		ref := archive.RefOf(newKey(), content)
		put(t, r, ref, content)
		for _, other := range [][]byte{nil, noise(size), content[1:], append(bytes.Clone(content), 0), noise(7 * mib)} {
			err := r.Put(t.Context(), archive.RefOf(ref.Key, other), bytes.NewReader(other))
			wantErr(t, err, fault.Conflict, archive.ErrConflict)
		}
		if got := read(t, r, ref); !bytes.Equal(got, content) {
			t.Errorf("%d bytes: a refused content has replaced the first", size)
		}
		wantLeftovers(t, r, ref.Key)
	}
}

func testConcurrent(t *testing.T, r rig) {
	for _, size := range []int{1000, 6 * mib} {
		contents := [][]byte{noise(size), noise(size)}
		key := newKey()
		errs := make([]error, 16)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				content := contents[i%2]
				errs[i] = r.Put(t.Context(), archive.RefOf(key, content), bytes.NewReader(content))
			})
		}
		wg.Wait()
		won := 0
		if errs[0] != nil {
			won = 1
		}
		for i, err := range errs {
			if i%2 != won {
				wantErr(t, err, fault.Conflict, archive.ErrConflict)
			} else if err != nil {
				t.Errorf("writer %d of the content that is there: %v", i, err)
			}
		}
		if got := read(t, r, archive.RefOf(key, contents[won])); !bytes.Equal(got, contents[won]) {
			t.Error("the content is torn")
		}
		wantLeftovers(t, r, key)
	}
}

func testInterrupted(t *testing.T, r rig) {
	for _, size := range []int{1000, 6 * mib, 11 * mib} { // one part, two and three
		for _, at := range []int{0, size / 2, size - 1, size} {
			content := noise(size)
			ref := archive.RefOf(newKey(), content)
			err := r.Put(t.Context(), ref, io.MultiReader(bytes.NewReader(content[:at]), iotest.ErrReader(errSource)))
			wantErr(t, err, fault.Internal, errSource)
			wantAbsent(t, r, ref.Key)

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err = r.Put(ctx, ref, io.MultiReader(bytes.NewReader(content[:at]), onRead(cancel), bytes.NewReader(content[at:])))
			wantErr(t, err, fault.Internal, context.Canceled)
			wantAbsent(t, r, ref.Key)

			put(t, r, ref, content) // nothing blocks the next try
		}
	}
}

func testWrongContent(t *testing.T, r rig) {
	for _, size := range []int{1, 1000, 6 * mib} {
		content := noise(size)
		for name, wrong := range map[string][]byte{
			"empty":      nil,
			"short":      content[:size-1],
			"long":       append(bytes.Clone(content), 0),
			"first byte": flipped(content, 0),
			"last byte":  flipped(content, size-1),
		} {
			ref := archive.RefOf(newKey(), content)
			if err := r.Put(t.Context(), ref, bytes.NewReader(wrong)); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%d bytes, %s: %v", size, name, err)
			}
			wantAbsent(t, r, ref.Key)
		}
	}
	empty := archive.RefOf(newKey(), nil)
	wantErr(t, r.Put(t.Context(), empty, strings.NewReader("x")), fault.Invalid, nil)
	wantAbsent(t, r, empty.Key)
}

func testDamaged(t *testing.T, r rig) {
	for _, size := range []int{1, 1000, 6 * mib} {
		content := noise(size)
		for name, damaged := range map[string][]byte{
			"empty":      nil,
			"short":      content[:size-1],
			"long":       append(bytes.Clone(content), 0),
			"first byte": flipped(content, 0),
			"middle":     flipped(content, size/2),
			"last byte":  flipped(content, size-1),
		} {
			ref := archive.RefOf(newKey(), content)
			put(t, r, ref, content)
			r.tamper(t, ref.Key, damaged)
			o, err := r.Open(t.Context(), ref)
			if len(damaged) != size { // detected before a byte is returned
				wantErr(t, err, fault.Internal, archive.ErrCorrupt)
				_, err = r.OpenRange(t.Context(), ref, archive.Range{Length: 1})
				wantErr(t, err, fault.Internal, archive.ErrCorrupt)
				_, err = r.OpenRange(t.Context(), ref, archive.Range{Offset: int64(size) - 1, Length: 1})
				wantErr(t, err, fault.Internal, archive.ErrCorrupt)
				_, err = r.OpenRange(t.Context(), ref, archive.Range{Offset: int64(size)})
				wantErr(t, err, fault.Internal, archive.ErrCorrupt)
				continue
			}
			must.Do(t, err)
			n, err := io.Copy(io.Discard, o)
			wantErr(t, err, fault.Internal, archive.ErrCorrupt)
			if n >= int64(size) {
				t.Errorf("%s: all %d bytes were handed out", name, n)
			}
			if _, again := o.Read(make([]byte, 1)); again != err {
				t.Errorf("%s: after the error comes %v", name, again)
			}
			o.Close()
			wantErr(t, r.Put(t.Context(), ref, bytes.NewReader(content)), fault.Conflict, archive.ErrConflict)
		}
	}
}

func testMissing(t *testing.T, r rig) {
	ref := archive.RefOf(newKey(), []byte("never put"))
	_, err := r.Open(t.Context(), ref)
	wantErr(t, err, fault.NotFound, nil)
	_, err = r.OpenRange(t.Context(), ref, archive.Range{Offset: 1, Length: 2})
	wantErr(t, err, fault.NotFound, nil)
	_, err = r.OpenRange(t.Context(), ref, archive.Range{})
	wantErr(t, err, fault.NotFound, nil)
	wantAbsent(t, r, ref.Key)

	// A neighbouring key changes nothing.
	neighbour := ref.Key
	neighbour.File++
	put(t, r, archive.RefOf(neighbour, []byte("here")), []byte("here"))
	wantAbsent(t, r, ref.Key)
}

func testRanges(t *testing.T, r rig) {
	for _, size := range []int{0, 1, 1000, 6 * mib} {
		content := noise(size)
		ref := archive.RefOf(newKey(), content)
		put(t, r, ref, content)
		s := int64(size)
		for _, p := range []archive.Range{
			{0, s}, {0, s / 2}, {s / 2, s - s/2}, {max(s-1, 0), min(s, 1)}, {0, min(s, 1)}, {0, 0}, {s, 0}, {s / 3, s / 3},
		} {
			o, err := r.OpenRange(t.Context(), ref, p)
			if err != nil {
				t.Fatalf("%+v of %d: %v", p, size, err)
			}
			got, err := io.ReadAll(o)
			if err := errors.Join(err, o.Close()); err != nil {
				t.Fatalf("%+v of %d: %v", p, size, err)
			}
			if !bytes.Equal(got, content[p.Offset:p.Offset+p.Length]) {
				t.Errorf("%+v of %d: other bytes came back", p, size)
			}
		}
	}
}

func testWrongRanges(t *testing.T, r rig) {
	content := noise(100)
	ref := archive.RefOf(newKey(), content)
	put(t, r, ref, content)
	for _, p := range []archive.Range{{-1, 1}, {0, -1}, {0, 101}, {101, 0}, {100, 1}, {1, 1<<63 - 1}, {1<<63 - 1, 1}} {
		_, err := r.OpenRange(t.Context(), ref, p)
		wantErr(t, err, fault.Invalid, nil)
	}
}

func testContext(t *testing.T, r rig) {
	content := noise(6 * mib)
	ref := archive.RefOf(newKey(), content)
	put(t, r, ref, content)

	ctx, cancel := context.WithCancel(t.Context())
	o := must.Get(r.Open(ctx, ref))(t)
	defer o.Close()
	must.Get(io.ReadFull(o, make([]byte, mib)))(t)
	cancel()
	_, err := io.Copy(io.Discard, o)
	wantErr(t, err, fault.Internal, context.Canceled)

	_, err = r.Open(ctx, ref)
	wantErr(t, err, fault.Internal, context.Canceled)
	_, err = r.OpenRange(ctx, ref, archive.Range{Length: 1})
	wantErr(t, err, fault.Internal, context.Canceled)
	_, err = r.Stat(ctx, ref.Key)
	wantErr(t, err, fault.Internal, context.Canceled)
	wantErr(t, r.Check(ctx), fault.Internal, context.Canceled)
	ref.Key = newKey()
	wantErr(t, r.Put(ctx, ref, bytes.NewReader(content)), fault.Internal, context.Canceled)
	wantAbsent(t, r, ref.Key)

	late, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	_, err = r.Open(late, ref)
	wantErr(t, err, fault.Timeout, context.DeadlineExceeded)
}

func testInvalidKeys(t *testing.T, r rig) {
	good := newKey()
	for _, change := range []func(*archive.Key){
		func(k *archive.Key) { *k = archive.Key{} },
		func(k *archive.Key) { k.Folder = 0 },
		func(k *archive.Key) { k.Folder = 77 },
		func(k *archive.Key) { k.Mandate = 0 },
		func(k *archive.Key) { k.Order = 0 },
		func(k *archive.Key) { k.Archive = 0 },
		func(k *archive.Key) { k.File = -1 },
	} {
		key := good
		change(&key)
		ref := archive.RefOf(key, []byte("x"))
		wantErr(t, r.Put(t.Context(), ref, strings.NewReader("x")), fault.Invalid, nil)
		_, err := r.Open(t.Context(), ref)
		wantErr(t, err, fault.Invalid, nil)
		_, err = r.OpenRange(t.Context(), ref, archive.Range{})
		wantErr(t, err, fault.Invalid, nil)
		_, err = r.Stat(t.Context(), key)
		wantErr(t, err, fault.Invalid, nil)
	}
}

func testCheck(t *testing.T, r rig) {
	must.Do(t, r.Check(t.Context()))
	wantLeftovers(t, r, newKey())
}

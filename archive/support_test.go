package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"preismon/archive"
	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// TestMain makes the pauses between the tries of a request short: what is
// proved is how it ends after all of them.
func TestMain(m *testing.M) {
	minio.DefaultRetryUnit, minio.DefaultRetryCap = time.Millisecond, 10*time.Millisecond
	testserver.AtOnce(6) // they mostly wait
	m.Run()
}

// Helpers.

var errSource = errors.New("the source broke")

var archives atomic.Uint64

// newKey returns a key that no test has used.
func newKey() archive.Key {
	return archive.Key{Folder: archive.Exports, Mandate: 7, Order: 21, Archive: contracts.ArchiveID(archives.Add(1))}
}

// noise returns content that differs from call to call.
func noise(size int) []byte {
	p := make([]byte, size)
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(rand.Uint32())
	}
	rand.NewChaCha8(seed).Read(p)
	return p
}

// endless returns size bytes, the same in every call, generated while they are
// read.
func endless(size int64) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{1}), size)
}

func flipped(p []byte, at int) []byte {
	p = bytes.Clone(p)
	p[at] ^= 1
	return p
}

type onRead func()

func (f onRead) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

func put(tb testing.TB, s archive.Store, ref archive.Ref, content []byte) {
	tb.Helper()
	must.Do(tb, s.Put(context.Background(), ref, bytes.NewReader(content)))
}

func read(tb testing.TB, s archive.Store, ref archive.Ref) []byte {
	tb.Helper()
	o := must.Get(s.Open(context.Background(), ref))(tb)
	defer o.Close()
	got := must.Get(io.ReadAll(o))(tb)
	return got
}

// wantErr checks the kind of err, that it is target if there is one, and that
// it cannot be mistaken for a clean end.
func wantErr(tb testing.TB, err error, kind fault.Kind, target error) {
	tb.Helper()
	if err == nil || fault.KindOf(err) != kind || (target != nil && !errors.Is(err, target)) || errors.Is(err, io.EOF) {
		tb.Errorf("error is %v (%v), want kind %v and %v", err, fault.KindOf(err), kind, target)
	}
}

func wantAbsent(tb testing.TB, r rig, key archive.Key) {
	tb.Helper()
	_, err := r.Stat(context.Background(), key)
	wantErr(tb, err, fault.NotFound, nil)
	wantLeftovers(tb, r, key)
}

func wantLeftovers(tb testing.TB, r rig, key archive.Key) {
	tb.Helper()
	equals.Is(tb, 0, r.leftovers(tb, key), "unfinished uploads are left")
}

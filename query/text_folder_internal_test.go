package query

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
)

func textOf(r *rand.Rand) *segmentText {
	t := &segmentText{validity: validity{Watermark{1, r.Uint64N(9)}, Watermark{1, 9 + r.Uint64N(9)}}}
	for range r.IntN(5) {
		blocks := make([]byte, r.IntN(300))
		for i := range blocks {
			blocks[i] = byte(r.Uint32())
		}
		t.chunks = append(t.chunks, packedText{Deflated{Blocks: blocks, Size: r.IntN(1 << 20), CRC: r.Uint32()}, r.IntN(1000)})
		t.bytes += len(blocks)
	}
	return t
}

func textIn(t *segmentText) string {
	return fmt.Sprintf("%d %v %v", t.bytes, t.validity, t.chunks)
}

// TestTextFolder: a text comes back as it was put, or not at all: never one
// that is damaged, of which any byte was changed, or whose file is gone.
func TestTextFolder(t *testing.T) {
	r := rand.New(rand.NewPCG(67, 1))
	dir := t.TempDir()
	f := must.Get(newTextFolder(dir, 1<<20))(t)
	t.Cleanup(func() { _ = f.close() })
	for n := range 60 {
		key := answerKey(sha256.Sum256(fmt.Append(nil, n)))
		want := textOf(r)
		f.put(key, want)
		got, ok := f.get(key)
		if !ok || textIn(got) != textIn(want) {
			t.Fatalf("put %s, got %v", textIn(want), got)
		}
		file, _ := f.files.Get(key)
		if info, err := os.Stat(file.name); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%v, %v", info, err)
		}
		content := must.Get(os.ReadFile(file.name))(t)
		var err error
		switch n % 3 {
		case 0:
			content[r.IntN(len(content))] ^= byte(1 << r.IntN(8))
			err = os.WriteFile(file.name, content, 0o600)
		case 1:
			err = os.WriteFile(file.name, content[:r.IntN(len(content))], 0o600)
		case 2:
			err = os.Remove(file.name)
		}
		must.Do(t, err)
		if got, ok := f.get(key); ok {
			t.Fatalf("damaged in way %d, and read: %s", n%3, textIn(got))
		}
		if _, ok := f.validity(key); ok {
			t.Fatal("it is damaged, and still listed")
		}
	}
}

// TestTextFolderIsBounded: many goroutines put much more than may lie there;
// the files take no more, and none stays without an entry. What a former
// process left is deleted, and nothing else.
func TestTextFolderIsBounded(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	for _, name := range []string{"stream-1.text", "other"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	const most = 20 << 10
	f := must.Get(newTextFolder(dir, most))(t)
	t.Cleanup(func() { _ = f.close() })
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Fatalf("at the start there is %v, %v", left, err)
	}
	var all sync.WaitGroup
	for g := range uint64(4) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(68, g))
			for n := range 300 {
				key := answerKey(sha256.Sum256(fmt.Append(nil, n%100)))
				f.put(key, textOf(r))
				f.extend(key, validity{Watermark{1, 4}, Watermark{1, 20}})
				f.get(key)
			}
		})
	}
	all.Wait()
	var names []string
	var err error
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		names, err = filepath.Glob(filepath.Join(dir, textPattern))
		bytes := int64(0)
		for _, name := range names {
			if info, err := os.Stat(name); err == nil {
				bytes += info.Size()
			}
		}
		if entries := f.files.Stats().Entries; err == nil && len(names) == entries && bytes <= most && entries > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d files of %d bytes, %d entries", len(names), bytes, f.files.Stats().Entries)
		}
	}
	must.Do(t, f.close())
	f.put(answerKey{1}, textOf(rand.New(rand.NewPCG(68, 9))))
	if _, ok := f.get(answerKey{1}); ok {
		t.Error("it is closed, and writes")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != filepath.Base(other) {
		t.Errorf("at the end there is %v, %v", left, err)
	}
}

// TestTextsGoToDisk: what is evicted from memory is found on disk, with the
// watermarks for which it is right, and is in memory again after it was read.
func TestTextsGoToDisk(t *testing.T) {
	const each = 100
	texts := must.Get(newSegmentTexts(Config{RememberStreamBytes: 16 << 10, RememberStreamFolder: t.TempDir(), RememberStreamDisk: 1 << 20}))(t)
	texts.disk.writing = make(chan struct{}, each) // so that none is forgotten, however slow the disk is
	t.Cleanup(func() { _ = texts.close() })
	eventually := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	r := rand.New(rand.NewPCG(69, 1))
	want := map[answerKey]*segmentText{}
	all := func() bool {
		for key := range want {
			if _, ok := texts.validity(key); !ok {
				return false
			}
		}
		return true
	}
	for n := range each {
		text := textOf(r)
		text.chunks, text.bytes = []packedText{{Deflated{Blocks: fmt.Appendf(nil, "%300d", n), Size: n}, n}}, 300 // all of one size: each puts out one at most
		key := answerKey(sha256.Sum256(fmt.Append(nil, n)))
		want[key] = text
		texts.put(key, text)
		eventually("a text is neither in memory nor on disk", all)
	}
	read := 0
	for key, text := range want {
		v := text.validity
		if now, ok := texts.validity(key); !ok || now != v {
			t.Fatalf("%v, %v, not %v", now, ok, v)
		}
		v.at = Watermark{1, 100}
		texts.extend(key, v)
		if !texts.inMemory(key, text) {
			read++
		}
		var got *segmentText
		eventually("it cannot be read", func() (ok bool) { got, ok = texts.get(key); return ok })
		same := *got // which others may have now, too
		if same.validity = text.validity; got.at != v.at || textIn(&same) != textIn(text) {
			t.Fatalf("up to %v %s, not up to %v %s", got.at, textIn(got), v.at, textIn(text))
		}
		eventually("what it put out is not on disk", all)
		eventually("it is read each time, and never in memory", func() bool {
			got, ok := texts.get(key)
			return ok && texts.inMemory(key, got)
		})
	}
	if read < each/4 {
		t.Errorf("%d of %d texts were not in memory", read, each)
	}
}

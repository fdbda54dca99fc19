package query

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/cespare/xxhash/v2"

	"preismon/query/cache"
)

// textFolder keeps text of segments in files, one for each, and at most so many
// bytes of them. They are of this process alone: the next one begins without,
// because tables may have been restored in between. A file that is damaged, or
// that somebody deleted, is a miss.
type textFolder struct {
	dir     string
	files   *cache.Cache[answerKey, textFile]
	writing chan struct{} // one for each file that is being written
	closing sync.Once
}

// textFile is a file with the text of a segment.
type textFile struct {
	name  string
	bytes int
	validity
}

const (
	textPattern = "stream-*.text"
	// maxTextWrites is how many texts are written at the same time. What is evicted
	// beyond that, because the disk is slow, is forgotten.
	maxTextWrites = 4
)

// newTextFolder makes the folder, and deletes what a former process left there.
func newTextFolder(dir string, most int64) (*textFolder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder for the text of streams: %w", err)
	}
	if err := removeTexts(dir); err != nil {
		return nil, err
	}
	f := &textFolder{dir: dir, writing: make(chan struct{}, maxTextWrites)}
	f.files = cache.NewDropping(most, func(_ answerKey, t textFile) int { return t.bytes }, func(key answerKey, t textFile, _ bool) {
		if now, ok := f.files.Get(key); !ok || now.name != t.name {
			_ = os.Remove(t.name) // else the next process does
		}
	})
	return f, nil
}

// close ends the writing and deletes all text. What is read later is a miss.
func (f *textFolder) close() error {
	f.closing.Do(func() {
		for range maxTextWrites {
			f.writing <- struct{}{} // for ever
		}
	})
	return removeTexts(f.dir)
}

// removeTexts deletes the text in a folder, whoever wrote it.
func removeTexts(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, textPattern))
	for _, name := range names {
		if gone := os.Remove(name); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	if err != nil {
		return fmt.Errorf("folder for the text of streams: %w", err)
	}
	return nil
}

func (f *textFolder) validity(key answerKey) (validity, bool) {
	t, ok := f.files.Get(key)
	return t.validity, ok
}

// extend notes up to which watermark the text that was made at another one is
// right.
func (f *textFolder) extend(key answerKey, v validity) {
	if t, ok := f.files.Get(key); ok && t.since == v.since && t.at.Compare(v.at) < 0 {
		f.files.Put(key, textFile{t.name, t.bytes, v})
	}
}

// put writes a text to a file, unless it is there. It is forgotten if that
// fails, or if the disk is too slow.
func (f *textFolder) put(key answerKey, text *segmentText) {
	if t, ok := f.files.Get(key); ok && t.since == text.since {
		f.extend(key, text.validity)
		return
	}
	select {
	case f.writing <- struct{}{}:
		defer func() { <-f.writing }()
	default:
		return
	}
	if name, size, err := f.write(text); err == nil {
		f.files.Put(key, textFile{name, size, text.validity})
	}
}

func (f *textFolder) write(text *segmentText) (name string, size int, err error) {
	content, err := encodeText(text)
	if err != nil {
		return "", 0, err
	}
	to, err := os.CreateTemp(f.dir, textPattern) // with mode 0600
	if err != nil {
		return "", 0, err
	}
	_, err = to.Write(content)
	if err = errors.Join(err, to.Close()); err != nil {
		err = errors.Join(err, os.Remove(to.Name()))
	}
	return to.Name(), len(content), err
}

// get reads a text.
func (f *textFolder) get(key answerKey) (*segmentText, bool) {
	t, ok := f.files.Get(key)
	if !ok {
		return nil, false
	}
	content, err := os.ReadFile(t.name)
	text, whole := decodeText(content)
	if err != nil || !whole {
		f.files.Delete(key)
		return nil, false
	}
	text.validity = t.validity
	return text, true
}

// storedText is what a file holds, in gob, before xxHash64 of it.
type storedText struct {
	Chunks  []packedText
	Section []byte
	Lines   textSum
}

func encodeText(t *segmentText) ([]byte, error) {
	var to bytes.Buffer
	err := gob.NewEncoder(&to).Encode(storedText{t.chunks, t.section, t.lines})
	return binary.LittleEndian.AppendUint64(to.Bytes(), xxhash.Sum64(to.Bytes())), err
}

// decodeText returns the text in a file; not whole: it is damaged.
func decodeText(content []byte) (t *segmentText, whole bool) {
	body := content[:max(0, len(content)-8)]
	var stored storedText
	if sum := binary.LittleEndian.AppendUint64(nil, xxhash.Sum64(body)); !bytes.Equal(content[len(body):], sum) || gob.NewDecoder(bytes.NewReader(body)).Decode(&stored) != nil {
		return nil, false
	}
	t = &segmentText{chunks: stored.Chunks, section: stored.Section, lines: stored.Lines, bytes: len(stored.Section)}
	for _, c := range t.chunks {
		t.bytes += len(c.Blocks)
	}
	return t, true
}

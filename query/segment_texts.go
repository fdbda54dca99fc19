package query

import (
	"preismon/query/cache"
)

// segmentTexts is the remembered text of segments: in memory, and what was
// evicted from there on disk, if there is a folder for it.
type segmentTexts struct {
	memory *cache.Cache[answerKey, *segmentText]
	disk   *textFolder // nil: there is none
}

func newSegmentTexts(cfg Config) (t *segmentTexts, err error) {
	t = &segmentTexts{}
	if cfg.RememberStreamFolder != "" && cfg.RememberStreamDisk > 0 {
		if t.disk, err = newTextFolder(cfg.RememberStreamFolder, cfg.RememberStreamDisk); err != nil {
			return nil, err
		}
	}
	room := cfg.RememberStreamBytes - maxRecorders*segmentBytes(cfg.RememberStreamBytes)
	t.memory = cache.NewDropping(room, func(_ answerKey, t *segmentText) int { return len(answerKey{}) + t.size() },
		func(key answerKey, text *segmentText, evicted bool) {
			if evicted && t.disk != nil {
				t.disk.put(key, text)
			}
		})
	return t, nil
}

// validity returns for which watermarks the text of a segment is right.
func (t *segmentTexts) validity(key answerKey) (validity, bool) {
	if text, ok := t.memory.Get(key); ok {
		return text.validity, true
	}
	if t.disk == nil {
		return validity{}, false
	}
	return t.disk.validity(key)
}

// get returns the text of a segment, which is then in memory again.
func (t *segmentTexts) get(key answerKey) (*segmentText, bool) {
	if text, ok := t.memory.Get(key); ok || t.disk == nil {
		return text, ok
	}
	text, ok := t.disk.get(key)
	if ok {
		t.memory.Put(key, text)
	}
	return text, ok
}

// inMemory reports whether the memory for text of streams holds this one.
func (t *segmentTexts) inMemory(key answerKey, text *segmentText) bool {
	now, ok := t.memory.Get(key)
	return ok && now == text
}

func (t *segmentTexts) put(key answerKey, text *segmentText) { t.memory.Put(key, text) }

// extend notes that the text of a segment that was made at a watermark is right
// up to another one.
func (t *segmentTexts) extend(key answerKey, v validity) {
	if text, ok := t.memory.Get(key); ok {
		if text.since == v.since && text.at.Compare(v.at) < 0 {
			longer := *text
			longer.validity = v
			t.memory.Put(key, &longer)
		}
		return
	}
	if t.disk != nil {
		t.disk.extend(key, v)
	}
}

func (t *segmentTexts) close() error {
	if t.disk == nil {
		return nil
	}
	return t.disk.close()
}

// diskStats are those of the folder: of none, zero.
func (t *segmentTexts) diskStats() cache.Stats {
	if t.disk == nil {
		return cache.Stats{}
	}
	return t.disk.files.Stats()
}

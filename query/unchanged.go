package query

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"preismon/contracts"
)

// Condition makes a stream conditional: a client that has the answer does not
// get it again (If-None-Match; RFC 9110, section 13.1.2).
type Condition struct {
	// Tags are those of the answers that the client has. Any: it has some.
	Tags []string
	Any  bool
	// Form distinguishes the representations of the same rows.
	Form string
	// Tag is set before the stream starts, or is unchanged: the tag of the
	// answer. Empty: it has none, because its time is not over.
	Tag string
}

// ErrUnchanged ends a stream whose rows are those that the client has.
var ErrUnchanged = errors.New("the client has these rows")

// tagger makes the tags of answers: how far the tables were, so that whether
// rows have become visible since can be asked, hidden, since it shows how many
// others there are, and bound to the question. All nodes that share a key of
// cursors make and understand the same.
type tagger struct {
	place cipher.Block
	key   []byte
}

// tagSum is how many bytes of a tag bind it to its question.
const tagSum = 12

func newTagger(key contracts.Secret) (*tagger, error) {
	sum := func(of string) []byte {
		s := sha256.Sum256([]byte("preismon answer tag " + of + " v1\x00" + key.Reveal()))
		return s[:]
	}
	place, err := aes.NewCipher(sum("place"))
	return &tagger{place, sum("key")}, err
}

func (t *tagger) sum(q question, form string, place []byte) []byte {
	h := hmac.New(sha256.New, t.key)
	h.Write(q[:])
	h.Write(place)
	h.Write([]byte(form))
	return h.Sum(nil)[:tagSum]
}

func (t *tagger) make(q question, form string, at Watermark) string {
	var place [aes.BlockSize]byte
	binary.BigEndian.PutUint32(place[:], at.Epoch)
	binary.BigEndian.PutUint64(place[4:], at.Seq)
	t.place.Encrypt(place[:], place[:])
	return base64.RawURLEncoding.EncodeToString(append(place[:], t.sum(q, form, place[:])...))
}

// open returns how far the tables were when a tag was made; not ok: it belongs
// to another question, or is none of ours.
func (t *tagger) open(q question, form, tag string) (at Watermark, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(tag)
	if err != nil || len(raw) != aes.BlockSize+tagSum {
		return at, false
	}
	place, sum := raw[:aes.BlockSize], raw[aes.BlockSize:]
	if !hmac.Equal(sum, t.sum(q, form, place)) {
		return at, false
	}
	t.place.Decrypt(place, place)
	return Watermark{binary.BigEndian.Uint32(place), binary.BigEndian.Uint64(place[4:])}, true
}

// unchanged sets the tag of a stream whose time is over, and reports whether
// the client has its rows: none has become visible since one of its tags.
func (s *Service) unchanged(ctx context.Context, in *read, segments *segments, q question, c *Condition) (bool, error) {
	if in.query.Window.To.UnixMilli() > s.over() {
		return false, nil
	}
	q = q.of(in.query.Window)
	mark := in.query.Watermark
	c.Tag = s.tags.make(q, c.Form, segments.newest(mark))
	if c.Any {
		return true, nil
	}
	for _, tag := range c.Tags {
		at, ok := s.tags.open(q, c.Form, tag)
		if !ok || at.Compare(mark) > 0 {
			continue
		}
		rows := 0
		if at != mark {
			asked := s.lateRows(in, in.query.Window, at, 1)
			if err := s.store.Feed(ctx, in.vis, &asked, func(b *Block) error { rows += b.Len; return nil }); err != nil {
				return false, err
			}
		}
		if rows == 0 {
			c.Tag = tag
			return true, nil
		}
	}
	return false, nil
}

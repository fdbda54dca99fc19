package query

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

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
	// Tag is the tag of the answer, set before the stream starts, or once it is
	// known to be unchanged. Empty: it has none, because its time is not over.
	Tag string
}

// tagger makes the tags of answers: how far the tables were, so that whether
// rows have become visible since can be asked, hidden, since it shows how many
// others there are, and bound to the question. All nodes that share a key of
// cursors understand the same, unless rows show identity: its state is known by
// a number of the node.
type tagger struct {
	position cipher.Block
	key      []byte
}

// tagSum is how many bytes of a tag bind it to its question.
const tagSum = 12

func newTagger(key contracts.Secret) (*tagger, error) {
	sum := func(of string) []byte {
		s := sha256.Sum256([]byte("preismon answer tag " + of + " v1\x00" + key.Reveal()))
		return s[:]
	}
	position, err := aes.NewCipher(sum("place"))
	return &tagger{position, sum("key")}, err
}

func (t *tagger) sum(q question, form string, position []byte) []byte {
	h := hmac.New(sha256.New, t.key)
	h.Write(q[:])
	h.Write(position)
	h.Write([]byte(form))
	return h.Sum(nil)[:tagSum]
}

func (t *tagger) make(q question, form string, at Watermark) string {
	var position [aes.BlockSize]byte
	binary.BigEndian.PutUint32(position[:], at.Epoch)
	binary.BigEndian.PutUint64(position[4:], at.Seq)
	t.position.Encrypt(position[:], position[:])
	return base64.RawURLEncoding.EncodeToString(append(position[:], t.sum(q, form, position[:])...))
}

// open returns how far the tables were when a tag was made; not ok: it belongs
// to another question, or is none of ours.
func (t *tagger) open(q question, form, tag string) (at Watermark, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(tag)
	if err != nil || len(raw) != aes.BlockSize+tagSum {
		return at, false
	}
	position, sum := raw[:aes.BlockSize], raw[aes.BlockSize:]
	if !hmac.Equal(sum, t.sum(q, form, position)) {
		return at, false
	}
	t.position.Decrypt(position, position)
	return Watermark{binary.BigEndian.Uint32(position), binary.BigEndian.Uint64(position[4:])}, true
}

// Unchanged reports whether the client has the rows of a stream: none has
// become visible since the newest of its tags, which is then the tag of the
// answer. A stream that would be refused is not unchanged.
func (s *Service) Unchanged(ctx context.Context, p Principal, r ResultsRequest) (bool, error) {
	c := r.Condition
	if len(c.Tags) == 0 && !c.Any {
		return false, nil
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	plan, err := s.plan(p, r)
	if err != nil {
		return false, nil
	}
	a, err := s.authorize(ctx, p)
	if err != nil {
		return false, err
	}
	v := a.Visibility
	if !s.repeats(ctx, plan, v, r) || plan.query.Window.To.UnixMilli() > s.overBefore() {
		return false, nil
	}
	if err := s.catalogued(ctx, &v, plan.include); err != nil {
		return false, err
	}
	in, err := s.position(ctx, plan, v, a.Watermark, s.store.CountPairs)
	if err != nil || in.empty {
		return false, nil
	}
	about, err := s.questionOf(ctx, in, a.Generation)
	if err != nil {
		return false, err
	}
	about = about.of(in.query.Window)
	tag, at := s.newestTag(about, c, in.query.Watermark)
	switch {
	case tag != "":
		var late bool
		if late, err = s.lateSince(ctx, in, at); err == nil && !late {
			c.Tag = tag
			err = s.compareUnchanged(ctx, in, at)
			return err == nil, err
		}
	case c.Any:
		c.Tag = s.tags.make(about, c.Form, in.query.Watermark)
		return true, nil
	}
	return false, err
}

// newestTag returns the tag of a client that was made last, up to a watermark,
// and when; empty: none is of the question. If a row has come since, one has
// come since each of the others, too.
func (s *Service) newestTag(about question, c *Condition, mark Watermark) (newest string, last Watermark) {
	for _, tag := range c.Tags {
		at, ok := s.tags.open(about, c.Form, tag)
		if ok && at.Compare(mark) <= 0 && (newest == "" || at.Compare(last) > 0) {
			newest, last = tag, at
		}
	}
	return newest, last
}

// lateSince reports whether a row of a read has become visible since a
// watermark.
func (s *Service) lateSince(ctx context.Context, in *read, at Watermark) (bool, error) {
	if at == in.query.Watermark || s.store.nothingSince(in.vis, &in.query.Selectors, in.query.Window, at, in.query.Watermark) {
		return false, nil
	}
	rows, late := 0, s.lateRows(in, in.query.Window, at, 1)
	err := s.store.Feed(ctx, in.vis, &late, func(b *Block) error { rows += b.Len; return nil })
	return rows > 0, err
}

// compareUnchanged reads the rows of a stream as they were at a watermark and as
// they are, if remembered answers are compared, and fails if they differ.
func (s *Service) compareUnchanged(ctx context.Context, in *read, at Watermark) (err error) {
	if !s.store.check || at == in.query.Watermark {
		return nil
	}
	if in.encoder, err = s.encoder(ctx, in.resultsPlan, in.vis); err != nil {
		return err
	}
	was, err := s.store.fresh(ctx, in, in.query.Window, at)
	if err != nil {
		return err
	}
	_, err = compared(ctx, s.store, "unchanged stream", s.store.unchanged(in.vis), was, func(ctx context.Context) (textSum, error) {
		return s.store.fresh(ctx, in, in.query.Window, in.query.Watermark)
	})
	return err
}

package query

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"time"

	"preismon/contracts"
)

const (
	minCursorKey   = 32
	cursorLifetime = 30 * 24 * time.Hour
	maxCursorBytes = 4096
)

// sealer creates cursors: opaque, authenticated, and bound to what they were
// created for. Account and route are additional data of AES-GCM, so a cursor
// does not open at all under another account or route; what its query means is
// sealed in it, so that its owner can be told how another query differs.
type sealer struct {
	aeads []cipher.AEAD // the first one seals, each can open
	now   func() time.Time
}

type sealedCursor struct {
	Expires int64             `json:"x"` // Unix seconds
	State   json.RawMessage   `json:"p"`
	Query   map[string]string `json:"q,omitempty"` // as binding.prints
}

func newSealer(now func() time.Time, key contracts.Secret, others ...contracts.Secret) (*sealer, error) {
	s := &sealer{now: now}
	for _, k := range append([]contracts.Secret{key}, others...) {
		sum := sha256.Sum256([]byte("preismon cursor v1\x00" + k.Reveal()))
		block, err := aes.NewCipher(sum[:])
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		s.aeads = append(s.aeads, aead)
	}
	return s, nil
}

// keyID has 64 bits: keys are long and random, so a key cannot be guessed from
// its id.
func keyID(key contracts.Secret) string {
	sum := sha256.Sum256([]byte("preismon cursor key id v1\x00" + key.Reveal()))
	return hex.EncodeToString(sum[:8])
}

// openAny opens what any of the keys sealed.
func (s *sealer) openAny(sealed, ad []byte) (plain []byte, err error) {
	for _, aead := range s.aeads {
		if plain, err = aead.Open(nil, nil, sealed, ad); err == nil {
			return plain, nil
		}
	}
	return nil, err
}

// sealCursor returns the cursor of a state.
func (s *sealer) sealCursor(b binding, state any) (string, error) {
	raw, err := json.Marshal(state)
	if err != nil {
		return "", err
	}
	return s.sealState(b, raw)
}

// sealState is sealCursor for a state that is JSON already.
func (s *sealer) sealState(b binding, raw json.RawMessage) (string, error) {
	ends, err := b.ends()
	if err != nil {
		return "", err
	}
	prints, err := b.prints()
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(sealedCursor{Expires: s.now().Add(cursorLifetime).Unix(), State: raw, Query: prints})
	if err != nil {
		return "", err
	}
	for { // another nonce each time: a value that begins with "-" is a flag on a command line
		if cursor := base64.RawURLEncoding.EncodeToString(s.aeads[0].Seal(nil, nil, plain, ends)); cursor[0] != '-' {
			return cursor, nil
		}
	}
}

// opened is what a cursor holds, and how the query that it belongs to differs
// from the one that it was sent with.
type opened struct {
	state   json.RawMessage
	differs []string // parameters
}

// openCursor reads a cursor into state. Its owner learns that it has expired,
// or how the query that it belongs to differs; every other fault gets the same
// answer.
func (s *sealer) openCursor(b binding, cursor string, state any) error {
	o, err := s.open(b, cursor)
	switch {
	case err != nil:
		return err
	case len(o.differs) > 0:
		return otherQuery(o.differs)
	}
	return o.into(state)
}

func (o opened) into(state any) error {
	if err := json.Unmarshal(o.state, state); err != nil {
		return refusedCursor()
	}
	return nil
}

// errExpired refuses the caller's own cursor because it is too old.
var errExpired = invalid("cursor: it has expired. Start again without it.")

func refusedCursor() error {
	return invalid("cursor: it is wrong, or belongs to another account, query or kind of read. Start again without it.")
}

func (s *sealer) open(b binding, cursor string) (o opened, err error) {
	if len(cursor) > maxCursorBytes {
		return o, refusedCursor()
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor) // a cursor has only one spelling
	if err != nil {
		return o, refusedCursor()
	}
	ends, err := b.ends()
	if err != nil {
		return o, err
	}
	plain, err := s.openAny(sealed, ends)
	if err != nil {
		return o, refusedCursor()
	}
	var c sealedCursor
	if err := json.Unmarshal(plain, &c); err != nil {
		return o, refusedCursor()
	}
	if s.now().Unix() > c.Expires {
		return opened{state: c.State}, errExpired
	}
	prints, err := b.prints()
	if err != nil {
		return o, err
	}
	return opened{state: c.State, differs: differing(c.Query, prints)}, nil
}

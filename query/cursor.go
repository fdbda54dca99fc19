package query

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"preismon/contracts"
)

const (
	minCursorKey   = 32
	cursorLifetime = 30 * 24 * time.Hour
	maxCursorBytes = 4096
)

// sealer makes cursors: opaque, authenticated, and bound to what they were
// made for. The binding is the additional data of AES-GCM, so a cursor under
// another account, route or query does not open at all.
type sealer struct {
	aead cipher.AEAD
	now  func() time.Time
}

// binding is what a cursor belongs to: Query is the request without its
// cursor and limit.
type binding struct {
	Account contracts.AccountID
	Route   string
	Query   any
}

type sealedCursor struct {
	Expires int64           `json:"x"` // Unix seconds
	State   json.RawMessage `json:"p"`
}

func newSealer(key contracts.Secret, now func() time.Time) (*sealer, error) {
	sum := sha256.Sum256([]byte("preismon cursor v1\x00" + key.Reveal()))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &sealer{aead: aead, now: now}, nil
}

func (b binding) data() ([]byte, error) { return json.Marshal(b) }

// sealCursor makes the cursor of a state.
func (s *sealer) sealCursor(b binding, state any) (string, error) {
	ad, err := b.data()
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(state)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(sealedCursor{Expires: s.now().Add(cursorLifetime).Unix(), State: raw})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, ad)), nil
}

// openCursor reads a cursor into state. Whatever is wrong with it, the caller
// learns the same.
func (s *sealer) openCursor(b binding, cursor string, state any) error {
	ad, err := b.data()
	if err != nil {
		return err
	}
	refused := invalid("The cursor is wrong, expired, or belongs to another account or query. Start again without it.")
	if len(cursor) > maxCursorBytes {
		return refused
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor) // one text for one cursor
	if err != nil {
		return refused
	}
	plain, err := s.aead.Open(nil, nil, sealed, ad)
	if err != nil {
		return refused
	}
	var c sealedCursor
	if err := json.Unmarshal(plain, &c); err != nil || s.now().Unix() > c.Expires {
		return refused
	}
	if err := json.Unmarshal(c.State, state); err != nil {
		return refused
	}
	return nil
}

package auth

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"preismon/query/cache"
)

// Keyring holds the keys that tokens are verified with, and the one they are
// signed with. All are Ed25519: with a single algorithm the sender of a token
// has nothing to choose.
//
// To rotate keys without logging anyone out: give every node the new key as one
// of its others; then make it the signing key and keep the old one among the
// others; remove the old key when the last token signed with it has expired.
// Replace performs each step while the node runs; requests under a key that is
// removed end with it.
type Keyring struct{ keys atomic.Pointer[keySet] }

type keySet struct {
	private ed25519.PrivateKey
	active  string
	public  map[string]ed25519.PublicKey // by key id
	signed  *cache.Cache[[sha256.Size]byte, signedClaims]
}

// signedClaims are the claims that one of the keys signed. Whether a token is
// good now, and for whom, is checked each time.
type signedClaims struct {
	claims claimSet
	key    string // its id
}

// signedBytes bounds what is remembered of tokens whose signature was valid, by
// their digest: about ten thousand tokens. Checking a signature costs as much
// as the rest of a small read.
const signedBytes = 8 << 20

func newSigned() *cache.Cache[[sha256.Size]byte, signedClaims] {
	return cache.New(signedBytes, func(_ [sha256.Size]byte, s signedClaims) int {
		c := &s.claims
		return 256 + len(c.Issuer) + len(c.Subject) + len(c.ID) + len(c.Scope) + len(c.Client) + len(c.Session) + len(s.key)
	})
}

// NewKeyring returns a ring with a signing key and other public keys.
func NewKeyring(signing ed25519.PrivateKey, others ...ed25519.PublicKey) (*Keyring, error) {
	if len(signing) != ed25519.PrivateKeySize {
		return nil, errors.New("the signing key is no Ed25519 private key")
	}
	own := signing.Public().(ed25519.PublicKey)
	set := &keySet{private: signing, active: KeyID(own), public: map[string]ed25519.PublicKey{KeyID(own): own}, signed: newSigned()}
	for i, pub := range others {
		if len(pub) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("other key %d is no Ed25519 public key", i)
		}
		set.public[KeyID(pub)] = pub
	}
	k := &Keyring{}
	k.keys.Store(set)
	return k, nil
}

// Replace takes over the keys of another ring.
func (k *Keyring) Replace(other *Keyring) { k.keys.Store(other.keys.Load()) }

// IDs returns the ids of the keys: first that of the signing key, then the
// others in sorted order.
func (k *Keyring) IDs() []string {
	set := k.keys.Load()
	others := slices.Sorted(maps.Keys(set.public))
	return append([]string{set.active}, slices.DeleteFunc(others, func(id string) bool { return id == set.active })...)
}

func (k *Keyring) knows(id string) bool {
	_, ok := k.keys.Load().public[id]
	return ok
}

// ReadKeyring reads PEM files: the signing key as PKCS #8, the others as
// PKCS #8 or as public keys (PKIX).
func ReadKeyring(signing string, others ...string) (*Keyring, error) {
	private, _, err := readKey(signing)
	if err != nil {
		return nil, err
	}
	if private == nil {
		return nil, fmt.Errorf("%s: holds a public key, a private one is needed to sign", signing)
	}
	var public []ed25519.PublicKey
	for _, name := range others {
		_, pub, err := readKey(name)
		if err != nil {
			return nil, err
		}
		public = append(public, pub)
	}
	return NewKeyring(private, public...)
}

var errNoKey = errors.New("not one Ed25519 key as PEM (PKCS #8 or PKIX)")

// readKey reads a file with one key. private is nil if it holds a public one.
func readKey(name string) (private ed25519.PrivateKey, public ed25519.PublicKey, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, fmt.Errorf("read a token key: %w", err)
	}
	block, rest := pem.Decode(text)
	if more, _ := pem.Decode(rest); block != nil && more == nil {
		var key any // nil if it cannot be parsed
		switch block.Type {
		case "PRIVATE KEY":
			key, _ = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "PUBLIC KEY":
			key, _ = x509.ParsePKIXPublicKey(block.Bytes)
		}
		switch key := key.(type) {
		case ed25519.PrivateKey:
			return key, key.Public().(ed25519.PublicKey), nil
		case ed25519.PublicKey:
			return nil, key, nil
		}
	}
	return nil, nil, fmt.Errorf("%s: %w", name, errNoKey)
}

// EnsureKey creates a signing key in a file of mode 0600 unless the file
// exists. If several calls run at once, one of them wins.
func EnsureKey(name string) error {
	if _, err := os.Stat(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	err = pem.Encode(tmp, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// KeyID is the JWK thumbprint of a key (RFC 7638, RFC 8037 appendix A.3).
func KeyID(pub ed25519.PublicKey) string {
	jwk := `{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(pub) + `"}`
	sum := sha256.Sum256([]byte(jwk))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

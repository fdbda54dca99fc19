package oauth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"preismon/contracts"
)

// keys are derived from the configured key, each for one purpose.
type keys struct {
	pages   cipher.AEAD // for logins in progress
	clients []byte      // for client ids
	refresh []byte      // for refresh tokens
}

func deriveKeys(secret contracts.Secret) (keys, error) {
	var k keys
	page, err := derive(secret, "transaction")
	if err != nil {
		return k, err
	}
	if k.clients, err = derive(secret, "client id"); err != nil {
		return k, err
	}
	if k.refresh, err = derive(secret, "refresh token"); err != nil {
		return k, err
	}
	block, err := aes.NewCipher(page)
	if err != nil {
		return k, err
	}
	k.pages, err = cipher.NewGCMWithRandomNonce(block)
	return k, err
}

// keyring is a list of keys: the first one seals, and each one opens.
type keyring []keys

func deriveKeyring(secret contracts.Secret, others []contracts.Secret) (all keyring, err error) {
	for _, s := range append([]contracts.Secret{secret}, others...) {
		k, err := deriveKeys(s)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// sealed reports whether a sum is the seal of a text by one of the keys that of
// selects.
func (r keyring) sealed(of func(keys) []byte, text, sum []byte) bool {
	good := false
	for _, k := range r {
		good = hmac.Equal(sum, seal(of(k), text)) || good
	}
	return good
}

// sealPage encrypts a text, so that the browser that holds it cannot read it.
func (r keyring) sealPage(text []byte) []byte { return r[0].pages.Seal(nil, nil, text, nil) }

// openPage decrypts what sealPage returned.
func (r keyring) openPage(sealed []byte) (text []byte, err error) {
	for _, k := range r {
		if text, err = k.pages.Open(nil, nil, sealed, nil); err == nil {
			return text, nil
		}
	}
	return nil, err
}

func derive(secret contracts.Secret, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, []byte(secret.Reveal()), nil, "preismon oauth 1 "+purpose, sha256.Size)
}

// seal returns an HMAC of a text.
func seal(key, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return h.Sum(nil)
}

// b64 is the encoding of everything that we generate.
var b64 = base64.RawURLEncoding.Strict()

// decode accepts only what b64 produces: the library's decoder skips line ends,
// so that two texts would be the same.
func decode(text string) ([]byte, bool) {
	raw, err := b64.DecodeString(text)
	return raw, err == nil && len(text) == b64.EncodedLen(len(raw))
}

// digest returns what is stored in place of a secret, also as part of a key.
func digest(secret []byte) string {
	sum := sha256.Sum256(secret)
	return b64.EncodeToString(sum[:])
}

package auth

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"preismon/contracts"
	"preismon/contracts/strictjson"
	"preismon/query"
)

const (
	tokenType     = "at+jwt" // RFC 9068
	maxTokenBytes = 8 << 10
	clockSkew     = 60 * time.Second // between nodes; never added to an expiry
	maxLifetime   = 30 * 24 * time.Hour
)

// Token is the content of a verified token.
type Token struct {
	Account contracts.AccountID
	ID      string // empty in tokens from before revocation existed
	Expires time.Time
	key     string // the id of the key that signed it

	// Only in tokens that an authorization server issued to a client.
	Scopes  []string
	Client  string
	Session string // shared by all tokens of one consent
}

// Principal is the caller that the token stands for.
func (t *Token) Principal() query.Principal { return query.Principal{Account: t.Account} }

// claimSet holds the claims of RFC 9068 that our tokens have.
type claimSet struct {
	jwt.RegisteredClaims
	Scope   string `json:"scope,omitempty"`
	Client  string `json:"client_id,omitempty"`
	Session string `json:"sid,omitempty"`
}

func claims(issuer string, g Grant, id string, now time.Time) claimSet {
	now = now.Truncate(time.Second)
	return claimSet{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Audience: jwt.ClaimStrings{g.Audience}, Subject: g.Account.String(), ID: id,
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(g.Lifetime)),
		},
		Scope: strings.Join(g.Scopes, " "), Client: g.Client, Session: g.Session,
	}
}

func (k *Keyring) sign(c claimSet) (Issued, error) {
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
	t.Header["typ"] = tokenType
	keys := k.keys.Load()
	t.Header["kid"] = keys.active
	text, err := t.SignedString(keys.private)
	if err != nil {
		return Issued{}, fmt.Errorf("sign a token: %w", err)
	}
	return Issued{Token: contracts.Secret(text), Expires: c.ExpiresAt.Time}, nil
}

type expected struct {
	issuer, audience string
	now              time.Time
}

// The parser checks form, algorithm and signature. It leaves the claims to
// tokenOf below: the parser's single leeway would also prolong the life of a
// token, beyond what revocation remembers.
var parser = jwt.NewParser(
	jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
	jwt.WithStrictDecoding(),
	jwt.WithoutClaimsValidation(),
)

func (k *Keyring) parse(raw string, want expected) (*Token, error) {
	if len(raw) > maxTokenBytes {
		return nil, errors.New("too large")
	}
	keys := k.keys.Load()
	digest := sha256.Sum256([]byte(raw))
	signed, known := keys.signed.Get(digest)
	if !known {
		var err error
		if signed, err = keys.verify(raw); err != nil {
			return nil, err
		}
		keys.signed.Put(digest, signed)
	}
	t, err := tokenOf(signed.claims, want)
	if err == nil {
		t.key = signed.key
	}
	return t, err
}

// verify checks form, algorithm and signature.
func (s *keySet) verify(raw string) (none signedClaims, _ error) {
	if err := plainJSON(raw); err != nil {
		return none, err
	}
	var c claimSet
	t, err := parser.ParseWithClaims(raw, &c, s.keyOf)
	if err != nil {
		return none, err
	}
	if !t.Valid {
		return none, errors.New("not valid")
	}
	return signedClaims{c, t.Header["kid"].(string)}, nil // keyOf accepted the key id
}

// keyOf returns the key with the token's key id. It refuses a header with
// anything besides the algorithm, the type and the key id: no jku, jwk, x5u or
// crit.
func (s *keySet) keyOf(t *jwt.Token) (any, error) {
	kid, _ := t.Header["kid"].(string)
	key, known := s.public[kid]
	switch {
	case len(t.Header) != 3:
		return nil, errors.New("header: not just alg, typ and kid")
	case t.Header["typ"] != tokenType:
		return nil, errors.New("typ: not " + tokenType)
	case !known:
		return nil, errors.New("kid: unknown")
	}
	return ed25519.PublicKey(key), nil
}

// errIssuer means that the token was issued under another base URL.
type errIssuer struct{ got, want string }

func (e errIssuer) Error() string { return "iss: " + e.got + ", not " + e.want }

func tokenOf(c claimSet, want expected) (*Token, error) {
	switch {
	case c.Issuer != want.issuer:
		return nil, errIssuer{got: c.Issuer, want: want.issuer}
	case len(c.Audience) != 1 || c.Audience[0] != want.audience:
		return nil, errors.New("aud: another")
	case c.ExpiresAt == nil || !want.now.Before(c.ExpiresAt.Time):
		return nil, errors.New("exp: missing or over")
	case c.NotBefore != nil && c.NotBefore.After(want.now.Add(clockSkew)):
		return nil, errors.New("nbf: not yet")
	case c.IssuedAt == nil || c.IssuedAt.After(want.now.Add(clockSkew)):
		return nil, errors.New("iat: missing or in the future")
	}
	account, err := contracts.ParseID[contracts.AccountID](c.Subject)
	if err != nil {
		return nil, fmt.Errorf("sub: %w", err)
	}
	return &Token{
		Account: account, ID: c.ID, Expires: c.ExpiresAt.Time,
		Scopes: strings.Fields(c.Scope), Client: c.Client, Session: c.Session,
	}, nil
}

// plainJSON refuses a token whose header or claims contain the same member
// twice, because readers differ in which of the two they use.
func plainJSON(raw string) error {
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return errors.New("not three parts")
	}
	for _, part := range parts[:2] {
		text, err := base64.RawURLEncoding.Strict().DecodeString(part)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		if err := strictjson.Members(text, func(name string, _ json.RawMessage) error {
			// encoding/json matches names without regard to case, so names that
			// differ only in case count as the same.
			if key := strings.ToLower(name); seen[key] || key != name {
				return errors.New("a member twice, or not in lower case")
			}
			seen[name] = true
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

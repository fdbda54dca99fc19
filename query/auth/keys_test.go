package auth_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"preismon/deploy/testserver/must"
	"preismon/query/auth"
)

func TestRotation(t *testing.T) {
	w := newWorld(t, nil)
	old := w.key
	newPub, next, _ := ed25519.GenerateKey(rand.Reader)
	oldToken, _, err := w.IssueREST(1)
	must.Do(t, err)
	added := w.with(t, old, nil, newPub)
	switched := w.with(t, next, nil, old.Public().(ed25519.PublicKey))
	removed := w.with(t, next, nil)
	newToken, _, err := switched.IssueREST(1)
	must.Do(t, err)
	for _, c := range []struct {
		name     string
		a        *auth.Authority
		old, new bool
	}{{"before", w.Authority, true, false}, {"added", added, true, true}, {"switched", switched, true, true}, {"removed", removed, false, true}} {
		if _, err := c.a.Verify(oldToken.Token.Reveal(), auth.RESTAudience); (err == nil) != c.old {
			t.Errorf("%s: old token: %v", c.name, err)
		}
		if _, err := c.a.Verify(newToken.Token.Reveal(), auth.RESTAudience); (err == nil) != c.new {
			t.Errorf("%s: new token: %v", c.name, err)
		}
	}
}

func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.pem"), filepath.Join(dir, "two.pem")
	var made sync.WaitGroup
	for range 8 {
		made.Go(func() {
			if err := auth.EnsureKey(one); err != nil {
				t.Error(err)
			}
		})
	}
	made.Wait()
	must.Do(t, auth.EnsureKey(two))
	before := must.Get(os.ReadFile(one))(t)
	must.Do(t, auth.EnsureKey(one))
	if after, _ := os.ReadFile(one); string(after) != string(before) {
		t.Error("a new key was made")
	}
	info := must.Get(os.Stat(one))(t)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", info.Mode().Perm())
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	if _, err := auth.ReadKeyring(one, two); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"empty": "", "no pem": "hello", "two keys": string(before) + string(before),
		"rsa":    "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
		"broken": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
	} {
		bad := filepath.Join(dir, "bad.pem")
		must.Do(t, os.WriteFile(bad, []byte(text), 0o600))
		if _, err := auth.ReadKeyring(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := auth.ReadKeyring(one, bad); err == nil {
			t.Errorf("%s: taken among others", name)
		}
	}
	if _, err := auth.ReadKeyring(filepath.Join(dir, "none.pem")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// RFC 8037, appendix A.3.
func TestKeyID(t *testing.T) {
	pub := must.Get(base64.RawURLEncoding.DecodeString("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))(t)
	if got := auth.KeyID(pub); got != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Error(got)
	}
}

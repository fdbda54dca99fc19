package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/contracts/atomicfile"
)

// Tokens are the tokens of a user, one file per server, which only that user may
// read. Passwords are not stored.
type Tokens struct{ Dir string }

// Kept is a token with the server it is for.
type Kept struct {
	URL     string
	Login   string
	Token   contracts.Secret
	Expires time.Time
}

// kept is the form of the file.
type kept struct {
	URL     string    `json:"url"`
	Login   string    `json:"login"`
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

func (t Tokens) file(server string) (string, error) {
	u, err := ParseURL(server)
	if err != nil {
		return "", err
	}
	return filepath.Join(t.Dir, url.QueryEscape(u.String())+".json"), nil
}

// Keep stores a token, replacing an earlier one for its server.
func (t Tokens) Keep(k Kept) error {
	name, err := t.file(k.URL)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(kept{k.URL, k.Login, k.Token.Reveal(), k.Expires.UTC()}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(name, append(text, '\n'))
}

// Of returns the token for a server; fs.ErrNotExist: there is none.
func (t Tokens) Of(server string) (*Kept, error) {
	name, err := t.file(server)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Kept{k.URL, k.Login, contracts.Secret(k.Token), k.Expires}, nil
}

// Forget removes the token for a server.
func (t Tokens) Forget(server string) error {
	name, err := t.file(server)
	if err != nil {
		return err
	}
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Servers returns the addresses for which there are tokens, in order of their file names.
func (t Tokens) Servers() (all []string, err error) {
	entries, err := os.ReadDir(t.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if server, err := url.QueryUnescape(name); ok && err == nil {
			all = append(all, server)
		}
	}
	return all, err
}

package auth

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// hasher compares passwords with argon2id hashes, a few at a time: each
// comparison takes a core and megabytes of memory for tens of milliseconds.
type hasher struct {
	slots chan struct{}
	wait  time.Duration
	dummy string // a hash that no password has
	done  atomic.Int64
}

func newHasher(cfg Config) (*hasher, error) {
	dummy, err := argon2id.CreateHash("\x00no password", &cfg.Hash)
	if err != nil {
		return nil, err
	}
	return &hasher{slots: make(chan struct{}, cfg.HashesAtOnce), wait: cfg.HashWait, dummy: dummy}, nil
}

// check reports whether the hash is that of the password.
func (h *hasher) check(ctx context.Context, password, hash string) (bool, error) {
	params, _, _, err := argon2id.DecodeHash(hash)
	if err == nil {
		err = boundHash(params)
	}
	if err != nil {
		return false, fmt.Errorf("hash of an account: %w", err)
	}
	timeout := time.NewTimer(h.wait)
	defer timeout.Stop()
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	case <-timeout.C:
		return false, &fault.Error{
			Kind: fault.Unavailable, Msg: "Too many logins at once. Try again in a moment.", RetryAfter: time.Second,
		}
	}
	defer func() { <-h.slots }()
	h.done.Add(1)
	match, _, err := argon2id.CheckHash(password, hash)
	return match, err
}

// Hashes returns how many passwords have been hashed for logins so far.
func (a *Authority) Hashes() int64 { return a.hasher.done.Load() }

// boundHash refuses parameters that would make argon2 panic, or with which one
// login could bring the machine down.
func boundHash(p *argon2id.Params) error {
	var f contracts.Faults
	f.Check(p.Memory >= 8 && p.Memory <= 256<<10, "memory: %d KiB, from 8 to %d", p.Memory, 256<<10)
	f.Check(p.Iterations >= 1 && p.Iterations <= 32, "iterations: %d, from 1 to 32", p.Iterations)
	f.Check(p.Parallelism >= 1 && p.Parallelism <= 16, "parallelism: %d, from 1 to 16", p.Parallelism)
	f.Check(p.SaltLength >= 8 && p.SaltLength <= 64, "salt: %d bytes, from 8 to 64", p.SaltLength)
	f.Check(p.KeyLength >= 16 && p.KeyLength <= 64, "key: %d bytes, from 16 to 64", p.KeyLength)
	return f.Err()
}

// MinPasswordRunes is the minimum length of a new password. NIST SP 800-63B
// requires 15 where a password is the only factor, and at least 8 in any case;
// here it is backed by argon2id and a limit of ten attempts a minute.
const MinPasswordRunes = 12

// CheckNewPassword refuses a new password that is too short.
func CheckNewPassword(password contracts.Secret) error {
	if utf8.RuneCountInString(password.Reveal()) < MinPasswordRunes {
		return fmt.Errorf("the password is too short: it must have at least %d characters", MinPasswordRunes)
	}
	return nil
}

// CheckPassword reports whether a hash is that of a password.
func CheckPassword(password contracts.Secret, hash string) (bool, error) {
	match, _, err := argon2id.CheckHash(password.Reveal(), hash)
	return match, err
}

// HashPassword returns the argon2id hash of a new password in PHC form.
func (c Config) HashPassword(password contracts.Secret) (string, error) {
	if password == "" || len(password) > MaxPasswordBytes {
		return "", fmt.Errorf("a password has 1 to %d bytes", MaxPasswordBytes)
	}
	return argon2id.CreateHash(password.Reveal(), &c.Hash)
}

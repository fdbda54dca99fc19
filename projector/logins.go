package projector

import (
	"context"
	"fmt"
	"slices"

	"preismon/contracts"
	"preismon/projector/clickhouse"
)

// holder is an account and the login that it takes unless it is disabled.
type holder struct {
	mandate  uint64
	login    string
	disabled bool
	version  uint64 // of the record
}

func holderOf(d *contracts.Account, version uint64) holder {
	return holder{uint64(d.MandateID), composed(d.LoginIdentifier), d.Disabled, version}
}

// logins holds the accounts in the tables and, by login, the accounts that take
// it. Two can take the same one only if both records were written by a
// projector that did not track holders.
type logins struct {
	accounts map[uint64]holder
	takers   map[string][]uint64
}

func newLogins() logins { return logins{map[uint64]holder{}, map[string][]uint64{}} }

func (l *logins) set(account uint64, h holder) {
	if old, ok := l.accounts[account]; ok && !old.disabled {
		if left := slices.DeleteFunc(l.takers[old.login], func(id uint64) bool { return id == account }); len(left) > 0 {
			l.takers[old.login] = left
		} else {
			delete(l.takers, old.login)
		}
	}
	l.accounts[account] = h
	if !h.disabled {
		l.takers[h.login] = append(l.takers[h.login], account)
	}
}

// loadLogins reads the logins back from the tables.
func (p *Projector) loadLogins(ctx context.Context) error {
	p.logins = newLogins()
	var (
		account uint64
		h       holder
	)
	err := p.read(ctx, "logins", nil, clickhouse.Row{
		"account": &account, "mandate": &h.mandate, "login_identifier": &h.login, "disabled": &h.disabled, "version": &h.version,
	}, func() { p.logins.set(account, h) })
	for login, ids := range p.logins.takers {
		if len(ids) > 1 {
			p.log.Warn("nobody can log in with a login that several accounts take: disable all but one, or give them other logins", "login", login, "accounts", ids)
		}
	}
	return err
}

// account returns why an account's record is refused; empty: it is not. A record
// may not move the account to another mandate, or give it a login that another
// account holds. A disabled account holds no login. What an account already has
// it keeps.
func (a *admission) account(d *contracts.Account, version uint64) (reason string) {
	id, next := uint64(d.AccountID), holderOf(d, version)
	old, known := a.p.logins.accounts[id]
	if known && old.version >= version {
		return ""
	}
	if changed, ok := a.accounts[id]; ok {
		old, known = changed, true
	}
	if known && !old.disabled && old.mandate != next.mandate {
		return fmt.Sprintf("mandateId: account %d belongs to mandate %d already", id, old.mandate)
	}
	if !next.disabled && (!known || old.disabled || old.login != next.login) {
		if by, of, taken := a.taker(next.login, id); taken {
			return fmt.Sprintf("loginIdentifier: the login %q belongs to account %d of mandate %d already", next.login, by, of)
		}
	}
	a.accounts[id] = next
	if !next.disabled {
		a.logins[next.login] = id
	}
	return ""
}

// taker finds another account that takes the login.
func (a *admission) taker(login string, account uint64) (by, of uint64, taken bool) {
	if id, ok := a.logins[login]; ok && id != account {
		if h := a.accounts[id]; !h.disabled && h.login == login {
			return id, h.mandate, true
		}
	}
	for _, id := range a.p.logins.takers[login] {
		if _, changed := a.accounts[id]; !changed && id != account {
			return id, a.p.logins.accounts[id].mandate, true
		}
	}
	return 0, 0, false
}

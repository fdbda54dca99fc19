package oauth_test

import (
	"context"
	"sync"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/auth"
	"preismon/query/oauth/clientdoc"
)

// accounts are the accounts of the catalogue.
type accounts struct {
	hash string
	mu   sync.Mutex
	all  map[contracts.AccountID]*query.Access
	down error
	on   func() // called when an account is read
}

func newAccounts() *accounts {
	return &accounts{all: map[contracts.AccountID]*query.Access{reader: {Account: reader}, other: {Account: other}, admin: {Account: admin, Administrative: true}}}
}

var logins = map[string]contracts.AccountID{"reader@example.com": reader, "other@example.com": other, "admin@example.com": admin}

func (a *accounts) set(id contracts.AccountID, access *query.Access) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all[id] = access
}

func (a *accounts) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = err
}

func (a *accounts) onAccess(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.on = f
}

func (a *accounts) Access(_ context.Context, id contracts.AccountID) (*query.Access, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.on != nil {
		a.on()
	}
	if a.down != nil {
		return nil, a.down
	}
	if found := a.all[id]; found != nil {
		return found, nil
	}
	return nil, fault.New(fault.NotFound, "", "No such account.")
}

func (a *accounts) ByLogin(ctx context.Context, login string) (auth.Credentials, error) {
	id, ok := logins[login]
	if !ok {
		return auth.Credentials{}, fault.New(fault.NotFound, "", "No such login.")
	}
	found, err := a.Access(ctx, id)
	if err != nil {
		return auth.Credentials{}, err
	}
	return auth.Credentials{Account: id, PasswordHash: a.hash, Administrative: found.Administrative, Disabled: found.Disabled}, nil
}

func (a *accounts) Active(ctx context.Context, of []contracts.AccountID) (active []contracts.AccountID, err error) {
	for _, id := range of {
		if found, err := a.Access(ctx, id); err == nil && !found.Administrative && !found.Disabled {
			active = append(active, id)
		}
	}
	return active, nil
}

// documents are the client metadata documents of the world.
type documents struct {
	mu      sync.Mutex
	byID    map[string]clientdoc.Document
	fetched int
	away    error
}

func (d *documents) down(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = err
}

func (d *documents) put(id string, doc clientdoc.Document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byID == nil {
		d.byID = map[string]clientdoc.Document{}
	}
	d.byID[id] = doc
}

func (d *documents) Fetch(_ context.Context, id string) (clientdoc.Document, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fetched++
	if d.away != nil {
		return clientdoc.Document{}, d.away
	}
	doc, ok := d.byID[id]
	if !ok {
		return doc, fault.New(fault.Invalid, "invalid_client", "No such document.")
	}
	return doc, nil
}

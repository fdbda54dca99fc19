package faults_test

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"time"

	"preismon/contracts/event"
	"preismon/query/auth"
)

// publish publishes the account in its current state.
func (e *ending) publish() error {
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 17))
	account := *e.account
	if err := e.w.producer.pub.Publish(context.Background(), record(rnd, event.KindAccount, &account)); err != nil {
		return err
	}
	_, err := e.w.producer.pub.Flush(context.Background())
	return err
}

// issue signs the tokens with the key of the nodes.
func (e *ending) issue(lifetime time.Duration) error {
	authority, err := auth.NewIssuer(baseURL, e.key)
	if err != nil {
		return err
	}
	rest, err := authority.Issue(auth.Grant{Account: e.account.AccountID, Audience: auth.RESTAudience, Lifetime: lifetime})
	if err != nil {
		return err
	}
	agent, err := authority.Issue(auth.Grant{
		Account: e.account.AccountID, Audience: baseURL + "/mcp", Lifetime: lifetime, Scopes: []string{"mcp"}, Client: "faults", Session: e.account.LoginIdentifier,
	})
	e.rest, e.agent = rest.Token.Reveal(), agent.Token.Reveal()
	return err
}

// revoke revokes a token as another node does.
func (e *ending) revoke(token string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	revoke, err := e.w.otherNode(ctx)
	if err != nil {
		return err
	}
	return revoke(token)
}

// stingy is a client whose connections buffer little before they are read.
func stingy() *http.Client {
	dialer := &net.Dialer{}
	return &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		if err == nil {
			_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		}
		return c, err
	}}}
}

// rotate replaces a key with another one.
func rotate(name string) error {
	next := name + ".next"
	if err := auth.EnsureKey(next); err != nil {
		return err
	}
	return os.Rename(next, name)
}

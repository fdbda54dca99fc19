package main

import (
	"net/url"
	"time"

	"preismon/query"
	"preismon/query/auth"
	"preismon/query/mcp"
	"preismon/query/oauth"
	"preismon/query/oauth/clientdoc"
	"preismon/query/rest"
)

// agentSurfaces returns POST /mcp and the authorization server that its clients
// log in to.
func agentSurfaces(s serving, service *query.Service, authority *auth.Authority, accounts oauth.Accounts, metrics *queryMetrics) ([]rest.Mounted, error) {
	cfg := mcp.Defaults()
	cfg.BaseURL, cfg.Build, cfg.AllowedOrigins, cfg.TrustedProxies = s.rest.BaseURL, s.rest.Build, s.rest.AllowedOrigins, s.rest.TrustedProxies
	cfg.MaxResponseBytes = s.rest.MaxResponseBytes
	agents, err := mcp.New(cfg, mcp.Deps{Service: service, Auth: authority, Logger: s.log, Now: time.Now, Called: metrics.called})
	if err != nil {
		return nil, err
	}
	all := []rest.Mounted{{Paths: []string{oauth.ResourcePath}, Handler: agents}}
	if base, err := url.Parse(s.rest.BaseURL); err != nil || base.Scheme == "http" && !clientdoc.Loopback(base) {
		s.log.Warn("agents cannot log in: passwords and codes would be sent in the clear. Give a --base-url with https", "base_url", s.rest.BaseURL)
		return all, nil
	}
	login := oauth.Defaults()
	login.Replicas = max(1, s.replicas)
	login.BaseURL, login.Key, login.TrustedProxies = s.rest.BaseURL, s.query.CursorKey, s.rest.TrustedProxies
	login.VerifyKeys, login.Schemes = s.query.VerifyCursorKeys, s.schemes
	read := clientdoc.Defaults()
	read.Schemes = s.schemes
	documents, err := clientdoc.New(read, clientdoc.Deps{})
	if err != nil {
		return nil, err
	}
	server, err := oauth.New(login, oauth.Deps{
		Auth: authority, Accounts: accounts, Documents: documents, JetStream: s.bus.js, Logger: s.log, Now: time.Now, Granted: metrics.granted,
	})
	if err != nil {
		return nil, err
	}
	return append(all, rest.Mounted{Paths: server.Paths(), Handler: server, OwnCORS: true}), nil
}

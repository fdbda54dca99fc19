package main

import (
	"testing"

	"preismon/deploy/testserver/equals"
)

// openidClient: a client library certified for OpenID Connect finds nothing to
// complain about, and the server refuses what it must.
func (c *clientsTest) openidClient(t *testing.T) {
	const grace = 30 // seconds, the default
	type rotation struct {
		Scope         string
		RefreshTokens int
		MCP           int
		Sites         string
		Reuse         string
		AfterReuse    string
	}
	type revocation struct {
		Before, After int
		Refresh       string
		Unknown       *string
	}
	type misuse struct {
		IssOfAnother, IssMissing string
		Scope                    string
		RefreshToken             *string
		MCP                      int
		CodeAgain                string
		TokenAfterCodeAgain      int
		Verifier, Resource       string
	}
	type report struct {
		SameMetadata bool
		Rotation     rotation
		Revocation   revocation
		Misuse       misuse
		Denial       map[string]string
		Client       struct {
			ClientName   string   `json:"client_name"`
			RedirectURIs []string `json:"redirect_uris"`
		}
	}
	var got report
	c.script(t, "openid-client.mjs", map[string]any{"url": c.up.URL, "grace": grace}, &got)
	if t.Failed() {
		return
	}
	c.checkSites(t, got.Rotation.Sites)
	got.Rotation.Sites = ""
	want := report{
		SameMetadata: true, // OAUTH-02
		// OAUTH-01c: a token may be reused once within the grace, and never
		// after it. A later reuse ends the whole family (RFC 9700, 4.14.2).
		Rotation:   rotation{"mcp offline_access", 4, 200, "", "invalid_grant", "invalid_grant"},
		Revocation: revocation{200, 401, "invalid_grant", nil},
		// OAUTH-01a, OAUTH-01b: the library checks iss (RFC 9207); the server
		// checks the code, its verifier and the resource (RFC 8707).
		Misuse: misuse{
			"OAUTH_INVALID_RESPONSE", "OAUTH_INVALID_RESPONSE", "mcp", nil, 200, "invalid_grant", 401, "invalid_grant", "invalid_target",
		},
		Denial: map[string]string{"error": "access_denied", "iss": c.up.URL, "state": "checked"}, // OAUTH-03c
	}
	want.Client.ClientName = "openid-client" // OAUTH-03b
	// OAUTH-04: the browser is sent to a port other than the registered one.
	want.Client.RedirectURIs = []string{"http://127.0.0.1:1/callback"}
	delete(got.Denial, "error_description")
	equals.Check(t, want, got)
}

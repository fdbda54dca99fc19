package oauth

import (
	"context"
	"encoding/json"
	"strings"

	"preismon/contracts/fault"
	"preismon/query/oauth/clientdoc"
)

// Documents fetches the metadata document of a client whose id is its URL
// (draft-ietf-oauth-client-id-metadata-document). A bad id or document:
// Invalid; a document that cannot be fetched now: Unavailable.
type Documents interface {
	Fetch(ctx context.Context, clientID string) (clientdoc.Document, error)
}

// client is the client that requests access.
type client struct {
	id        string
	name      string // cleaned; may be empty
	host      string // the host that vouches for it; empty for a registered one
	redirects []string
}

// registered is the metadata of a registered client, as contained in its id.
// The order of members and URIs is fixed, so that a client gets the same id no
// matter how often it registers.
type registered struct {
	Name      string   `json:"n,omitempty"`
	Type      string   `json:"t"`
	Redirects []string `json:"r"`
}

const (
	clientPrefix = "c1."
	maxClientID  = 4 << 10 // it is part of URLs and of every access token
)

// clientID returns the id of a registered client: its metadata and their seal.
func (r keyring) clientID(m registered) (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	return clientPrefix + b64.EncodeToString(text) + "." + b64.EncodeToString(seal(r[0].clients, text)), nil
}

// readClientID is the inverse of clientID, for ids that we issued.
func (r keyring) readClientID(id string) (m registered, ok bool) {
	encoded, found := strings.CutPrefix(id, clientPrefix)
	if !found || len(id) > maxClientID {
		return m, false
	}
	encoded, sum, _ := strings.Cut(encoded, ".")
	text, ok := decode(encoded)
	if !ok {
		return m, false
	}
	mac, ok := decode(sum)
	if !ok || !r.sealed(func(k keys) []byte { return k.clients }, text, mac) {
		return m, false
	}
	err := json.Unmarshal(text, &m)
	return m, err == nil
}

var errUnknownClient = unknownClient("The client is not known. Register it again.")

// isDocument reports whether an id is the URL of a document.
func isDocument(id string) bool { return strings.HasPrefix(id, "https://") }

// findClient returns what is known of a client, for a person to decide on. It
// may fetch the client's document.
func (s *Server) findClient(ctx context.Context, id string) (client, error) {
	c := client{id: id}
	if isDocument(id) {
		if len(id) > maxClientID {
			return c, errUnknownClient
		}
		d, err := s.deps.Documents.Fetch(ctx, id)
		if faultIs(err, fault.Unavailable) {
			return c, &fault.Error{Kind: fault.Unavailable, Code: codeInvalidClient, Msg: "The client's document cannot be had at the moment.", RetryAfter: retryShortly, Err: err}
		}
		if err != nil {
			return c, err
		}
		c.name, c.host, c.redirects = d.Name, d.Host, d.RedirectURIs
	} else {
		m, ok := s.keys.readClientID(id)
		if !ok {
			return c, errUnknownClient
		}
		c.name, c.redirects = m.Name, m.Redirects
	}
	return c, nil
}

// checkClient returns an error if a client may not present a code or token.
// Codes and tokens are bound to the client that a person approved, so no
// document is fetched.
func (s *Server) checkClient(id string) error {
	if id == "" {
		return unknownClient("client_id: missing.")
	}
	if isDocument(id) && len(id) <= maxClientID {
		return nil
	}
	if _, ok := s.keys.readClientID(id); ok {
		return nil
	}
	return errUnknownClient
}

// authenticate makes sure that a request comes from a public client: a client
// that sends a secret does not believe that it is one.
func (s *Server) authenticate(f form, authorization string) (clientID string, err error) {
	if authorization != "" || f["client_secret"] != "" || f["client_assertion"] != "" {
		return "", fault.New(fault.Unauthenticated, codeInvalidClient, "Clients have no secret here. Send client_id alone.")
	}
	return f["client_id"], s.checkClient(f["client_id"])
}

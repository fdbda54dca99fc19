package clientdoc

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"preismon/contracts/fault"
	"preismon/contracts/plaintext"
	"preismon/contracts/strictjson"
)

// CodeInvalidClient is the code for a wrong client id or document.
const CodeInvalidClient = "invalid_client"

func refuse(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, CodeInvalidClient, format, args...)
}

// parseDocument parses the metadata of a client (RFC 7591, section 2, with
// section 4 of the draft) and checks that it describes a public client.
func parseDocument(body []byte, id, host string, schemes []string) (Document, error) {
	if !utf8.Valid(body) || strictjson.Unique(body, len(body)) != nil {
		return Document{}, refuse("The client's metadata document is not JSON, or names a member twice.")
	}
	var members map[string]json.RawMessage // exact names, unlike those of a struct
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return Document{}, refuse("The client's metadata document is not a JSON object.")
	}
	var claimed, name, method string
	var redirects, grants []string
	for _, m := range []struct {
		name string
		into any
		must bool
	}{
		{"client_id", &claimed, true},
		{"client_name", &name, true},
		{"redirect_uris", &redirects, true},
		{"token_endpoint_auth_method", &method, false},
		{"grant_types", &grants, false},
	} {
		raw, there := members[m.name]
		if !there && !m.must {
			continue
		}
		if !there || bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, m.into) != nil {
			return Document{}, refuse("The client's metadata document has no %s, or one of another type.", m.name)
		}
	}
	_, authenticates := members["token_endpoint_auth_method"]
	_, secret := members["client_secret"]
	_, secretEnds := members["client_secret_expires_at"]
	name = plaintext.Clean(name, MaxNameRunes)
	switch {
	case claimed != id:
		return Document{}, refuse("The client's metadata document is that of another client id.")
	case name == "":
		return Document{}, refuse("The client's metadata document has an empty client_name.")
	case authenticates && method != "none", secret, secretEnds:
		return Document{}, refuse("The client's metadata document is not that of a public client: its token_endpoint_auth_method must be none, and it must have no secret.")
	case grants != nil && !slices.Contains(grants, "authorization_code"):
		return Document{}, refuse("The client's metadata document does not list the grant type authorization_code.")
	case len(redirects) == 0:
		return Document{}, refuse("The client's metadata document has no redirect_uris.")
	}
	for i, uri := range redirects {
		if err := ValidRedirect(uri, schemes); err != nil {
			return Document{}, refuse("The client's metadata document has a redirect URI that is refused, number %d: %v.", i+1, err)
		}
	}
	return Document{ClientID: id, Host: host, Name: name, RedirectURIs: redirects}, nil
}

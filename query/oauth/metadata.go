package oauth

import "encoding/json"

// Scopes: mcp is required for every call, offline_access for refresh tokens.
const (
	ScopeMCP     = "mcp"
	ScopeOffline = "offline_access"
)

// Well-known paths (RFC 9728, RFC 8414, OpenID Connect Discovery).
const (
	resourceMetadataPath = "/.well-known/oauth-protected-resource"
	serverMetadataPath   = "/.well-known/oauth-authorization-server"
	openIDMetadataPath   = "/.well-known/openid-configuration"
)

// resourceMetadata is the document of RFC 9728. It does not list
// offline_access, which the resource does not require.
type resourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	ResourceName         string   `json:"resource_name"`
}

// serverMetadata follows RFC 8414, with members of RFC 7009, RFC 7591, RFC
// 9207, RFC 9728 and of the draft on Client ID Metadata Documents.
type serverMetadata struct {
	Issuer                   string   `json:"issuer"`
	AuthorizationEndpoint    string   `json:"authorization_endpoint"`
	TokenEndpoint            string   `json:"token_endpoint"`
	RegistrationEndpoint     string   `json:"registration_endpoint"`
	RevocationEndpoint       string   `json:"revocation_endpoint"`
	ScopesSupported          []string `json:"scopes_supported"`
	ResponseTypes            []string `json:"response_types_supported"`
	ResponseModes            []string `json:"response_modes_supported"`
	GrantTypes               []string `json:"grant_types_supported"`
	TokenAuthMethods         []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods    []string `json:"revocation_endpoint_auth_methods_supported"`
	CodeChallengeMethods     []string `json:"code_challenge_methods_supported"`
	IssuerInResponse         bool     `json:"authorization_response_iss_parameter_supported"`
	ClientIDMetadataDocument bool     `json:"client_id_metadata_document_supported"`
	RequestParameter         bool     `json:"request_parameter_supported"`
	RequestURIParameter      bool     `json:"request_uri_parameter_supported"`
	ProtectedResources       []string `json:"protected_resources"`
}

var noAuth = []string{"none"}

// metadata returns the documents by their paths. If the base URL has a path,
// they are also served where the RFCs put it: after the well-known part.
func (s *Server) metadata() (map[string][]byte, error) {
	base := s.cfg.BaseURL
	resource, err := json.Marshal(resourceMetadata{
		Resource: s.resource, AuthorizationServers: []string{base}, ScopesSupported: []string{ScopeMCP},
		BearerMethods: []string{"header"}, ResourceName: "preismon",
	})
	if err != nil {
		return nil, err
	}
	server, err := json.Marshal(serverMetadata{
		Issuer: base, AuthorizationEndpoint: base + authorizePath, TokenEndpoint: base + tokenPath,
		RegistrationEndpoint: base + registerPath, RevocationEndpoint: base + revokePath,
		ScopesSupported: []string{ScopeMCP, ScopeOffline}, ResponseTypes: responseTypes, ResponseModes: []string{"query"},
		GrantTypes: grantTypes, TokenAuthMethods: noAuth, RevocationAuthMethods: noAuth, CodeChallengeMethods: []string{methodS256},
		IssuerInResponse: true, ClientIDMetadataDocument: true, ProtectedResources: []string{s.resource},
	})
	if err != nil {
		return nil, err
	}
	documents := map[string][]byte{
		resourceMetadataPath: resource, resourceMetadataPath + ResourcePath: resource,
		serverMetadataPath: server, openIDMetadataPath: server,
		// Older clients look for it under the resource's path.
		serverMetadataPath + ResourcePath: server,
	}
	if path := s.base.Path; path != "" {
		documents[resourceMetadataPath+path+ResourcePath] = resource
		documents[serverMetadataPath+path] = server
		documents[serverMetadataPath+path+ResourcePath] = server
		documents[openIDMetadataPath+path] = server
	}
	return documents, nil
}

package mcp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Versions of the protocol (MCP-11), newest first.
const modernVersion = "2026-07-28"

var versions = []string{modernVersion, "2025-11-25", "2025-06-18", assumedVersion}

// assumedVersion is the version of a legacy POST without the header: the last
// one before the header existed.
const assumedVersion = "2025-03-26"

const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// The methods of each era. Whatever else the SDK knows needs a session, a
// stream, or an ability that we do not claim.
var (
	sharedMethods = []string{
		"tools/list", "tools/call", "prompts/list", "prompts/get",
		"resources/list", "resources/templates/list", "resources/read",
	}
	legacyMethods = append([]string{"initialize", "ping"}, sharedMethods...)
	modernMethods = append([]string{"server/discover"}, sharedMethods...)
)

// named are the methods with a name that mcp-name repeats, and the param that
// holds it (MCP-04).
var named = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

func mismatch(m message, format string, args ...any) *refusal {
	return malformed(sdk.CodeHeaderMismatch, m.id, format, args...)
}

// metadata is what the headers of a POST state about its body.
type metadata struct{ version, method, name string }

func metadataOf(h http.Header) (metadata, error) {
	var all metadata
	for name, to := range map[string]*string{versionHeader: &all.version, methodHeader: &all.method, nameHeader: &all.name} {
		given := h.Values(name)
		if len(given) > 1 {
			return all, malformed(sdk.CodeHeaderMismatch, nil, "The header %s is given twice.", name)
		}
		*to = strings.Join(given, "")
	}
	name, ok := decodeName(all.name)
	if !ok {
		return all, malformed(sdk.CodeHeaderMismatch, nil, "The header %s is not encoded as it should be.", nameHeader)
	}
	all.name = name
	return all, nil
}

// decodeName decodes names that a header cannot hold directly.
func decodeName(value string) (string, bool) {
	encoded, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, true
	}
	if encoded, ok = strings.CutSuffix(encoded, "?="); !ok {
		return value, true
	}
	name, err := base64.StdEncoding.DecodeString(encoded)
	return string(name), err == nil
}

// versionOf returns the version in which a POST must be answered, and refuses a
// POST whose headers and body disagree (MCP-02, 03, 04).
func versionOf(header http.Header, p post) (string, error) {
	head, err := metadataOf(header)
	if err != nil {
		return "", err
	}
	first := p.messages[0]
	if head.version != "" && !slices.Contains(versions, head.version) {
		no := malformed(sdk.CodeUnsupportedProtocolVersion, nil, "This version of the protocol is not supported.")
		if !p.batch {
			no.id = first.id
		}
		no.data = sdk.UnsupportedProtocolVersionData{Supported: versions, Requested: clip(head.version)}
		return "", no
	}
	switch {
	case p.batch:
		if head.version == modernVersion || head.method != "" || head.name != "" || slices.ContainsFunc(p.messages, message.looksModern) {
			return "", invalidRequest(nil, "Version %s has no batches: send one message a POST.", modernVersion)
		}
	case head.version == modernVersion:
		return modernVersion, checkModern(head, first)
	default:
		if err := checkLegacy(head, first); err != nil {
			return "", err
		}
	}
	if head.version == "" {
		return assumedVersion, nil
	}
	return head.version, nil
}

func checkModern(head metadata, m message) error {
	if m.isRequest() && head.method == "" {
		return mismatch(m, "The header %s is missing.", methodHeader)
	}
	if m.isRequest() && head.name == "" && named[m.method] != "" {
		return mismatch(m, "The header %s is missing.", nameHeader)
	}
	if err := head.agrees(m); err != nil {
		return err
	}
	if !m.isRequest() || !slices.Contains(modernMethods, m.method) {
		return nil // reported elsewhere
	}
	version, ok := text(m.meta()[sdk.MetaKeyProtocolVersion])
	switch {
	case !ok:
		return malformed(jsonrpc.CodeInvalidParams, m.id, "_meta: %s is missing or not a string.", sdk.MetaKeyProtocolVersion)
	case version != head.version:
		return mismatch(m, "The header %s and the version in _meta are not the same.", versionHeader)
	}
	return nil
}

// checkLegacy accepts headers of the modern era together with a legacy version,
// because some clients send them. Without a version it accepts them only with
// initialize, which no modern client sends.
func checkLegacy(head metadata, m message) error {
	if head.version == "" && (m.looksModern() || m.method != "initialize" && (head.method != "" || head.name != "")) {
		return mismatch(m, "The header %s is missing. Version %s needs it.", versionHeader, modernVersion)
	}
	if given, ok := m.meta()[sdk.MetaKeyProtocolVersion]; ok {
		if version, _ := text(given); version != head.version {
			return mismatch(m, "The header %s and the version in _meta are not the same.", versionHeader)
		}
	}
	return head.agrees(m)
}

// agrees refuses headers that contradict the body.
func (head metadata) agrees(m message) error {
	if head.method != "" && head.method != m.method {
		return mismatch(m, "The header %s does not say the method of the body.", methodHeader)
	}
	param := named[m.method]
	if param == "" || head.name == "" {
		return nil
	}
	if name, ok := text(members(m.params)[param]); !ok || name != head.name {
		return mismatch(m, "The header %s does not say the %s of the body.", nameHeader, param)
	}
	return nil
}

// looksModern reports whether only a client of the modern era sends such a
// message.
func (m message) looksModern() bool {
	_, versioned := m.meta()[sdk.MetaKeyProtocolVersion]
	return versioned || m.method == "server/discover"
}

func (m message) meta() map[string]json.RawMessage { return members(members(m.params)["_meta"]) }

// members returns the members of an object; nil for anything else.
func members(raw json.RawMessage) (all map[string]json.RawMessage) {
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

func text(raw json.RawMessage) (s string, ok bool) {
	ok = len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
	return s, ok
}

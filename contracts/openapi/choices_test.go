package openapi_test

import (
	"strings"
	"testing"

	"preismon/contracts/openapi"
)

// The reference states what the specification leaves open about MCP: where
// input schemas are found (OPEN-10), all names of tools (OPEN-11), payloads and
// URI templates (OPEN-12), lifetimes (OPEN-13), the paths of the metadata
// (OPEN-14), and the versions of the protocol (VER-05). That the program does
// what it states is proved by the tests of the packages that implement it.
func TestReferenceSaysWhatWeChose(t *testing.T) {
	text := strings.Join(strings.Fields(string(document(t, openapi.LLMsFullPath))), " ")
	for rule, words := range map[string][]string{
		"OPEN-10": {"Input schemas are in `tools/list`."},
		"OPEN-11": {"| `list_result_changes` |", "| `list_order_export_history` |", "| `list_order_import_history` |", "| `list_asin_locales` |"},
		"OPEN-12": {
			"`svc://sites/{site}`, `svc://orders/{orderId}`, `svc://items/{itemId}`", "behind `summary` and `completeness`", "`recovery.attempts`",
			"`metadata`, `contentType` (the same as in `metadata`), `sizeBytes`",
		},
		"OPEN-13": {"An access token lives 24 hours.", "| life of an MCP access token | 24 hours"},
		"OPEN-14": {
			"`/.well-known/oauth-protected-resource/mcp`", "`/.well-known/oauth-protected-resource`",
			"`/.well-known/oauth-authorization-server`", "`/.well-known/openid-configuration`",
		},
		"VER-05": {"`2025-03-26`, `2025-06-18`, `2025-11-25` (legacy) and `2026-07-28` (modern)"},
	} {
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q is not said", rule, w)
			}
		}
	}
}

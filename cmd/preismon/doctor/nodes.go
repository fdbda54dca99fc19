package doctor

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// nodes checks each query node: whether it answers, and whether its address is
// the one that it gives to agents.
func (s *Site) nodes(ctx context.Context) []Finding {
	return slices.Concat(each(s.Nodes, func(at string) []Finding { return s.node(ctx, at) })...)
}

func (s *Site) node(ctx context.Context, node string) []Finding {
	const check = "query node"
	if _, err := ask(ctx, node+"/healthz", http.StatusOK); err != nil {
		return one(check, Bad, "preismon health --admin-listen HOST:PORT # of that node; it says what it lacks", "%s: %v", node, err)
	}
	body, err := ask(ctx, node+"/.well-known/oauth-protected-resource/mcp", http.StatusOK)
	var said struct{ Resource string }
	if err == nil {
		err = json.Unmarshal(body, &said)
	}
	if err != nil {
		return one(check, Warning, "curl -sS "+node+"/.well-known/oauth-protected-resource/mcp", "%s answers, but its description for agents cannot be read: %v", node, err)
	}
	if said.Resource != node+"/mcp" {
		return one(check, Warning, "preismon query --base-url "+node+" ... # or: preismon doctor --node "+strings.TrimSuffix(said.Resource, "/mcp"), "%s calls itself %s: links and logins of agents lead there", node, strings.TrimSuffix(said.Resource, "/mcp"))
	}
	return one(check, OK, "", "%s answers, by the address that it gives to agents", node)
}

package mcp_test

import (
	"encoding/json"
	"testing"

	"preismon/deploy/testserver/must"
)

// Every member of every output schema has a description, so that an agent need
// not guess from its name.
func TestEveryMemberOfAnAnswerIsDescribed(t *testing.T) {
	members := 0
	for _, d := range newAgents(t, newMarket()).agent(whole).tools() {
		var s any
		must.Do(t, json.Unmarshal(d.OutputSchema, &s))
		eachMember(s, d.Name, func(path string, member object) {
			if members++; member["description"] == nil || member["description"] == "" {
				t.Errorf("%s has no description", path)
			}
		})
	}
	if members < 250 {
		t.Errorf("the schemas have %d members: the walk does not see them all", members)
	}
}

// eachMember visits the members of a schema and of all schemas in it.
func eachMember(s any, path string, visit func(path string, member object)) {
	switch s := s.(type) {
	case []any:
		for _, part := range s {
			eachMember(part, path, visit)
		}
	case object:
		for keyword, value := range s {
			named, ok := value.(object)
			if !ok || keyword != "properties" && keyword != "patternProperties" && keyword != "$defs" {
				eachMember(value, path, visit)
				continue
			}
			for name, member := range named {
				if keyword != "$defs" {
					visit(path+"."+name, member.(object))
				}
				eachMember(member, path+"."+name, visit)
			}
		}
	}
}

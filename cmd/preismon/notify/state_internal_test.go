package notify

import (
	"path/filepath"
	"testing"

	"preismon/deploy/testserver/must"
)

// What is kept does not change with what its caller goes on with: another route
// may be writing all of it.
func TestKeptIsACopy(t *testing.T) {
	s := &state{path: filepath.Join(t.TempDir(), "state"), positions: map[string]position{}}
	p := position{Sites: map[string]seen{"a": {}}}
	must.Do(t, s.keep("rule/target", p))
	p.Sites["a"] = seen{Reported: true}
	if s.at("rule/target").Sites["a"].Reported {
		t.Error("it changed")
	}
}

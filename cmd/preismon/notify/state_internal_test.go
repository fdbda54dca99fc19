package notify

import (
	"path/filepath"
	"testing"
)

// What is kept does not change with what its caller goes on with: another route
// may be writing all of it.
func TestKeptIsACopy(t *testing.T) {
	s := &state{path: filepath.Join(t.TempDir(), "state"), positions: map[string]position{}}
	p := position{Sites: map[string]seen{"a": {}}}
	if err := s.keep("rule/target", p); err != nil {
		t.Fatal(err)
	}
	p.Sites["a"] = seen{Reported: true}
	if s.at("rule/target").Sites["a"].Reported {
		t.Error("it changed")
	}
}

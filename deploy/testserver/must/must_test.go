package must_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
)

// stopped is a test that notes whether it was ended.
type stopped struct {
	testing.TB
	fatal []any
}

func (*stopped) Helper()            {}
func (s *stopped) Fatal(why ...any) { s.fatal = why }

// TestMust: an error ends a test, and nothing else does.
func TestMust(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		do   func(testing.TB)
		ends bool
	}{
		{"Do without an error", func(t testing.TB) { must.Do(t, nil) }, false},
		{"Do with one", func(t testing.TB) { must.Do(t, broken) }, true},
		{"Get without an error", func(t testing.TB) { must.Get(1, nil)(t) }, false},
		{"Get with one", func(t testing.TB) { must.Get(1, broken)(t) }, true},
		{"Eventually, true at last", func(t testing.TB) {
			n := 0
			must.Eventually(t, time.Minute, "it is", func() bool { n++; return n > 2 })
		}, false},
		{"Eventually, never true", func(t testing.TB) { must.Eventually(t, 20*time.Millisecond, "it is", func() bool { return false }) }, true},
	} {
		s := &stopped{}
		if c.do(s); (s.fatal != nil) != c.ends {
			t.Errorf("%s: it ended with %v", c.name, s.fatal)
		}
	}
	if err := must.Until(time.Millisecond, "the sky falls", func() bool { return false }); err == nil || !strings.HasSuffix(err.Error(), "the sky falls") {
		t.Errorf("the error is %v", err)
	}
}

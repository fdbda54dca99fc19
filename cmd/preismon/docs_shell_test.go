package main

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
)

// unsaid returns the first of the wanted lines that the output does not contain
// after the lines before it; "…" stands for anything, and any run of blanks
// equals one.
func unsaid(output string, want []string) string {
	have := strings.Split(output, "\n")
	for _, w := range want {
		pattern := regexp.QuoteMeta(strings.Join(strings.Fields(w), " "))
		form := regexp.MustCompile("^" + strings.ReplaceAll(pattern, "…", ".*") + "$")
		i := slices.IndexFunc(have, func(h string) bool { return form.MatchString(strings.Join(strings.Fields(h), " ")) })
		if i < 0 {
			return w
		}
		have = have[i+1:]
	}
	return ""
}

// shell is a bash that keeps running, so that variables persist.
type shell struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func (r *reader) shell(t *testing.T) *shell {
	t.Helper()
	env := slices.Clone(r.env)
	if r.up != nil {
		env = append(env, "PREISMON_URL="+r.up.URL)
	}
	if r.demo {
		env = append(env, "PREISMON_PASSWORD="+newDemoTest(t, r.up).account(t, "anna").Password)
	}
	cmd := command(t, env)
	path := must.Get(exec.LookPath("bash"))(t)
	cmd.Path, cmd.Args, cmd.Dir = path, []string{"bash", "-o", "pipefail"}, r.folder
	s := &shell{cmd: cmd}
	s.in = must.Get(cmd.StdinPipe())(t)
	out := must.Get(cmd.StdoutPipe())(t)
	cmd.Stderr = cmd.Stdout
	s.out = bufio.NewReader(out)
	must.Do(t, cmd.Start())
	time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	return s
}

// do runs a text and returns what it printed; ok is false if a line of it
// fails.
func (s *shell) do(t *testing.T, command string) (output string, ok bool) {
	t.Helper()
	const mark = "\x1d"
	must.Get(fmt.Fprintf(s.in, "set -e\n{\n%s\n} </dev/null\nset +e; printf '\\n%s'\n", command, `\035`))(t)
	output, err := s.out.ReadString(mark[0])
	return strings.TrimSuffix(strings.TrimSuffix(output, mark), "\n"), err == nil
}

func (s *shell) close(t *testing.T) {
	t.Helper()
	_ = s.in.Close()
	_, _ = io.Copy(io.Discard, s.out)
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

package compose_test

import (
	"bytes"
	"encoding/json"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// recreate: stored data is still there after the containers were recreated.
func (s *stack) recreate(t *testing.T) {
	a := s.accounts(t)[0]
	first := s.as(t, s.login(t, a), nil, "sites", "--format", "ndjson")
	run(t, s.compose("down", "--timeout", "30")) // volumes are kept
	run(t, s.compose("up", "--detach", "--wait", "--wait-timeout", "150", "--no-build", "--pull", "never"))
	if second := s.as(t, s.login(t, a), nil, "sites", "--format", "ndjson"); second != first {
		t.Errorf("the sites differ after a restart:\n%s\n%s", first, second)
	}
}

// stops: each container ends by itself when it is told to stop.
func (s *stack) stops(t *testing.T) {
	run(t, s.compose("stop"))
	for line := range strings.Lines(run(t, s.compose("ps", "--all", "--format", "json"))) {
		var c struct {
			Service  string
			ExitCode int
		}
		must.Do(t, json.Unmarshal([]byte(line), &c))
		if c.ExitCode != 0 {
			t.Errorf("%s ended with %d", c.Service, c.ExitCode)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// container is what the engine reports about one.
type container struct {
	Name   string
	Config struct {
		User   string
		Labels map[string]string
	}
	HostConfig struct {
		ReadonlyRootfs bool
		Privileged     bool
		CapDrop        []string
		SecurityOpt    []string
		Memory         int64
		NanoCpus       int64
	}
	Mounts []struct {
		Destination string
		RW          bool
	}
}

// hardened: the engine confirms what the file requires.
func (s *stack) hardened(t *testing.T) {
	ids := strings.Fields(run(t, s.compose("ps", "--all", "--quiet")))
	var all []container
	must.Do(t, json.Unmarshal([]byte(docker(t, append([]string{"inspect"}, ids...)...)), &all))
	want := 7
	if s.prometheus != "" {
		want++
	}
	if len(all) != want {
		t.Errorf("%d containers, want %d", len(all), want)
	}
	for _, c := range all {
		h := c.HostConfig
		if !h.ReadonlyRootfs || h.Privileged || len(h.CapDrop) != 1 || h.CapDrop[0] != "ALL" || h.Memory == 0 || h.NanoCpus == 0 ||
			!strings.HasPrefix(strings.Join(h.SecurityOpt, " "), "no-new-privileges") {
			t.Errorf("%s: %+v", c.Name, h)
		}
		service := c.Config.Labels["com.docker.compose.service"]
		equals.Is(t, (service == "nats"), c.Config.User == "" || strings.HasPrefix(c.Config.User, "0"), "%s runs as user %q", c.Name, c.Config.User)
		for _, m := range c.Mounts {
			if strings.HasPrefix(m.Destination, "/run/secrets/") && m.RW {
				t.Errorf("%s may write to %s", c.Name, m.Destination)
			}
		}
	}
	// Nothing but the program: there is no shell.
	out, err := exec.CommandContext(t.Context(), "docker", "run", "--rm", "--entrypoint", "/bin/sh", preismonImage).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("no such file")) {
		t.Errorf("the image has a shell: %v %s", err, out)
	}
	// The image contains no file of the repository either.
	listed := docker(t, "create", preismonImage, "version")
	defer func() { docker(t, "rm", strings.TrimSpace(listed)) }()
	tar := exec.CommandContext(t.Context(), "sh", "-c", "docker export "+strings.TrimSpace(listed)+" | tar -t")
	for name := range strings.FieldsSeq(run(t, tar)) {
		switch top, _, _ := strings.Cut(name, "/"); top {
		case "etc", "usr", "var", "dev", "proc", "sys", ".dockerenv":
		default:
			t.Errorf("the image holds %s", name)
		}
	}
	size := strings.TrimSpace(docker(t, "image", "inspect", "--format", "{{.Size}}", preismonImage))
	if n, err := strconv.Atoi(size); err != nil || n > 100<<20 {
		t.Errorf("the image has %s bytes", size)
	}
	t.Logf("the image has %s bytes", size)
}

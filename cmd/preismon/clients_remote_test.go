package main

import (
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/deploy/testserver/tools"
)

// remote: mcp-remote, which connects programs that speak only over standard
// input and output to a server, logs its person in and forwards calls. On its
// second run it has its tokens and needs no login.
func (c *clientsTest) remote(t *testing.T) {
	home := t.TempDir()
	for _, logins := range []int{1, 0} {
		r := remoteRun{c: c, t: t}
		run := tools.Node(t, tools.Program(t, "mcp-remote"), c.up.URL+"/mcp", "--transport", "http-only")
		run.Env = append(os.Environ(), "HOME="+home, "MCP_REMOTE_CONFIG_DIR="+home, "BROWSER=true", "DISPLAY=")
		run.Stderr = &lines{each: r.says}
		client := mcp.NewClient(&mcp.Implementation{Name: "stdio", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: run}, nil)
		if err != nil {
			t.Fatal(err, r.text())
		}
		found(t, session).check(t)
		c.checkSites(t, c.sites(t, session))
		if err := session.Close(); err != nil {
			t.Log("mcp-remote was told to end:", err)
		}
		r.person.Wait()
		if r.opened != logins {
			t.Errorf("%d logins, want %d\n%s", r.opened, logins, r.text())
		}
	}
}

// remoteRun is what a run of mcp-remote prints, and the person who reads it.
type remoteRun struct {
	c      *clientsTest
	t      *testing.T
	person sync.WaitGroup
	mu     sync.Mutex
	said   []string
	opened int // login pages
}

func (r *remoteRun) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.said, "\n")
}

// says reads a line, and opens it if it is the address of the login.
func (r *remoteRun) says(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, line)
	if !strings.HasPrefix(line, r.c.up.URL+"/oauth/authorize?") {
		return
	}
	u, err := url.Parse(line)
	if err != nil {
		r.t.Error(err)
		return
	}
	r.opened++
	q := u.Query()
	if q.Get("resource") != r.c.up.URL+"/mcp" || !strings.Contains(q.Get("scope"), "offline_access") { // OAUTH-01b, OAUTH-01c
		r.t.Errorf("asks for %v", q)
	}
	r.person.Go(func() {
		r.c.script(r.t, "person-main.mjs", map[string]any{"url": line, "redirect": q.Get("redirect_uri")}, new(walked))
	})
}

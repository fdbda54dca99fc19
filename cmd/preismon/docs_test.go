package main

import (
	"compress/gzip"
	"errors"
	"html"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// howTos are run after the tutorial, in this order: later ones remove more.
var howTos = []string{
	"import-your-csv.md", "connect-an-agent.md", "use-it-in-scripts.md", "ask-for-more-than-rows.md", "be-told.md", "take-csv-arrow-or-parquet.md", "generate-a-client.md", "run-with-containers.md",
	"run-on-kubernetes.md", "rotate-keys.md", "add-a-query-node.md", "more-than-one-machine.md", "watch.md", "trace.md", "upgrade.md", "operate.md",
	"replay-dead-letters.md", "rebuild.md", "back-up.md",
}

// TestDocs does what the tutorial, the how-tos and the README say, in one
// folder and with one server, and compares what is printed with what they show.
func TestDocs(t *testing.T) {
	effort.Full(t, "the commands of the documents")
	t.Parallel()
	files := must.Get(filepath.Glob(filepath.Join(docsFolder, "how-to", "*.md")))(t)
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	if missing := slices.DeleteFunc(files, func(f string) bool { return slices.Contains(howTos, f) }); len(missing) > 0 {
		t.Errorf("how-tos that nothing runs: %v", missing)
	}
	for _, pattern := range []string{"README.md", "explanation.md", "capacity.md", "known-limits.md", "reference/*.md", "../metrics.md", "../runbook/*.md"} {
		others, err := filepath.Glob(filepath.Join(docsFolder, filepath.FromSlash(pattern)))
		if err != nil || len(others) == 0 {
			t.Fatalf("%s: %v %v", pattern, others, err)
		}
		for _, o := range others {
			if b := blocks(t, o); len(b) > 0 {
				t.Errorf("%s has commands, and nothing runs them: %s", o, b[0].name)
			}
		}
	}
	r := newReader(t)
	documents := []string{"tutorial.md", "contribute.md"}
	for _, h := range howTos {
		documents = append(documents, "how-to/"+h)
	}
	for _, d := range documents {
		t.Run(d, func(t *testing.T) { r.document(t, d, filepath.Join(docsFolder, filepath.FromSlash(d))) })
	}
	t.Run("reference page", r.commandsOfThePage)
	t.Run("README.md", func(t *testing.T) { r.document(t, "README.md", filepath.Join(rootFolder, "README.md")) })
	t.Run("inline", r.inline)
	for _, left := range slices.Sorted(maps.Keys(r.unmet)) {
		if document, _, _ := strings.Cut(left, ": "); r.read[document] {
			t.Errorf("no document has the block %q", left)
		}
	}
}

// reader is a person who does what the documents say.
type reader struct {
	folder string // the working directory, with the data folder
	bin    string // the first folder of PATH
	env    []string
	up     *upProcess
	demo   bool            // it has a market
	read   map[string]bool // documents already read
	unmet  map[string]bool // entries of elsewhere and nowhere not yet met
	texts  []string        // of all commands, including those of elsewhere and nowhere
	t      *testing.T      // the whole test
}

func newReader(t *testing.T) *reader {
	binary := must.Get(os.Executable())(t)
	bin, folder, config := t.TempDir(), t.TempDir(), t.TempDir()
	must.Do(t, os.Symlink(binary, filepath.Join(bin, "preismon")))
	// The documents say `go run ./cmd/preismon` and `go install ./cmd/preismon`; this binary is that program.
	shim := "#!/bin/sh\ncase \"$1 $2\" in\n'run ./cmd/preismon') shift 2; exec preismon \"$@\";;\n'install ./cmd/preismon') exit 0;;\nesac\necho \"go $*: not in the documents\" >&2\nexit 1\n"
	must.Do(t, os.WriteFile(filepath.Join(bin, "go"), []byte(shim), 0o755))
	r := &reader{t: t, folder: folder, bin: bin, read: map[string]bool{}, unmet: map[string]bool{}}
	r.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "XDG_CONFIG_HOME=" + config, "HOME=" + config}
	for _, list := range []map[string]string{elsewhere, nowhere} {
		for name := range list {
			r.unmet[name] = true
		}
	}
	return r
}

// document does what one document says.
func (r *reader) document(t *testing.T, name, path string) {
	r.read[name] = true
	all := blocks(t, path)
	if len(all) == 0 && name != "how-to/operate.md" {
		t.Error("no commands")
	}
	switch name {
	case "how-to/replay-dead-letters.md":
		r.breakSomething(t)
	case "README.md":
		r.compress(t, "prices.csv") // which it imports
	}
	var s *shell // from when a server runs
	defer func() {
		if s != nil {
			s.close(t)
		}
	}()
	for _, b := range all {
		key := name + ": " + b.name
		for _, c := range b.commands {
			r.texts = append(r.texts, c.text)
		}
		reason, ok := elsewhere[key]
		if !ok {
			reason, ok = nowhere[key]
		}
		if ok || b.reason != "" {
			delete(r.unmet, key)
			if b.reason != reason && name != "README.md" {
				t.Errorf("%q is not run for the reason %q there, %q here", key, b.reason, reason)
			}
			continue
		}
		if !r.provide(t, b) {
			t.Logf("left out: %s (%s=full runs it)", b.name, effort.Variable)
			continue
		}
		if b.language == "sql" {
			r.sql(t, b.commands[0].text)
			continue
		}
		for _, c := range b.commands {
			if r.serve(t, &c) && s != nil { // shell variables referred to the previous server and password
				s.close(t)
				s = nil
			}
			if c.text == "" {
				continue
			}
			if s == nil {
				s = r.shell(t)
			}
			r.command(t, s, name, c)
		}
	}
}

var starts = regexp.MustCompile(`^(?:go run \./cmd/preismon|preismon) up( --demo)?\n?$`)

// serve does what a command says about the server, and leaves the rest of the
// command: what runs until it is stopped is started in the background, and ^C
// stops it. It reports whether it started a server.
func (r *reader) serve(t *testing.T, c *docCommand) (started bool) {
	t.Helper()
	first, rest, _ := strings.Cut(c.text, "\n")
	if m := starts.FindStringSubmatch(first); m != nil {
		started = r.start(m[1] != "", c.want)
		c.text = rest // as in the README: the next line is for another terminal
	}
	if strings.TrimSpace(c.text) == "^C" {
		r.up.interrupt()
		if code := r.up.wait(); code != 0 {
			t.Fatalf("stopped: exit code %d", code)
		}
		c.text = ""
	}
	return started
}

// command runs one command in the shell.
func (r *reader) command(t *testing.T, s *shell, document string, c docCommand) {
	t.Helper()
	here := strings.NewReplacer()
	if r.up != nil {
		here = strings.NewReplacer("http://127.0.0.1:8080", r.up.URL, "http://127.0.0.1:8081", r.up.AdminURL, "127.0.0.1:8081", strings.TrimPrefix(r.up.AdminURL, "http://"))
	}
	output, ok := s.do(t, here.Replace(c.text))
	if !ok {
		t.Fatalf("%s: it failed:\n%s\n%s", document, c.text, output)
	}
	want := make([]string, len(c.want))
	for i, w := range c.want {
		want[i] = here.Replace(w)
	}
	if missing := unsaid(output, want); missing != "" {
		t.Errorf("%s: %s\ndoes not print %q, but:\n%s", document, c.text, missing, output)
	}
}

// start starts a server in the folder, unless one runs already.
func (r *reader) start(demo bool, want []string) bool {
	r.t.Helper()
	if r.up != nil {
		select {
		case <-r.up.ended:
		default:
			return false
		}
	}
	args := append([]string{"--data-dir", filepath.Join(r.folder, "preismon-data")}, demoArgs[1:]...) // with their limits
	if r.up != nil {                                                                                  // again, at the same addresses
		for name, was := range map[string]string{"--listen": r.up.URL, "--admin-listen": r.up.AdminURL} {
			args = append(args, name, strings.TrimPrefix(was, "http://"))
		}
	}
	if r.demo = demo; demo {
		args = append(args, demoArgs[0])
	}
	r.up = startUp(r.t, args...)
	if missing := unsaid(strings.NewReplacer(r.up.URL, localServer, r.up.AdminURL, "http://127.0.0.1:8081").Replace(r.up.stdout.String()), want); missing != "" {
		r.t.Errorf("up does not print %q, but:\n%s", missing, r.up.stdout.String())
	}
	return true
}

// compress writes a gzipped copy of a file of the folder next to it.
func (r *reader) compress(t *testing.T, name string) {
	text := must.Get(os.ReadFile(filepath.Join(r.folder, name)))(t)
	f := must.Get(os.Create(filepath.Join(r.folder, name+".gz")))(t)
	z := gzip.NewWriter(f)
	_, err := z.Write(text)
	must.Do(t, errors.Join(err, z.Close(), f.Close()))
}

// breakSomething publishes a message that no one can read.
func (r *reader) breakSomething(t *testing.T) {
	runtime := must.Get(embedded.ReadRuntime(r.up.DataDir))(t)
	b := must.Get(connect(ingest.Config{URL: runtime.NATSURL, Name: t.Name()}))(t)
	defer b.conn.Close()
	must.Get(b.js.PublishMsg(t.Context(), &nats.Msg{Subject: "observations.demo-markt-de=example", Data: []byte(`{"version":2}`)}))(t)
	waitUntilApplied(t, r.up)
}

// commandsOfThePage runs every command of /docs: each is a request that the
// service understands, though often one for something that does not exist.
// Every problem that it links to has its page.
func (r *reader) commandsOfThePage(t *testing.T) {
	c := r.up.client()
	c.t = t
	resp := must.Get(http.Get(r.up.URL + "/docs"))(t) // no operation of the contract
	page, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %v", resp.StatusCode, err)
	}
	demo := newDemoTest(t, r.up)
	anna, agent := demo.account(t, "anna"), demo.agent(t, "anna")
	token, other := c.login(anna.LoginIdentifier, anna.Password).token, c.login(anna.LoginIdentifier, anna.Password).token
	commands := regexp.MustCompile(`(?s)id="(curl-[^"]+)">(.*?)</pre>`).FindAllStringSubmatch(string(page), -1)
	if len(commands) < 25 {
		t.Fatalf("%d commands", len(commands))
	}
	for _, m := range commands {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", html.UnescapeString(m[2]))
		cmd.Env, cmd.Dir = append(os.Environ(), "PREISMON_TOKEN="+token, "MCP_TOKEN="+agent.token), t.TempDir()
		if m[1] == "curl-revokeToken" {
			cmd.Env = append(cmd.Env, "PREISMON_TOKEN="+other)
		}
		out, err := cmd.CombinedOutput()
		if len(out) == 0 && err != nil || regexp.MustCompile(`"code":"(MVP_VALIDATION_ERROR|NOT_FOUND|METHOD_NOT_ALLOWED|INTERNAL_ERROR|AUTH_TOKEN_INVALID)"`).Match(out) {
			t.Errorf("%s: %v\n%s\n%.500s", m[1], err, m[2], out)
		}
	}
	for _, m := range regexp.MustCompile(`href="(problems/[a-z-]+)"`).FindAllStringSubmatch(string(page), -1) {
		if status, _ := c.get("/"+m[1], nil); status != http.StatusOK {
			t.Errorf("%s: %d", m[1], status)
		}
	}
}

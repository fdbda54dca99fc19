package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// apiServer serves what kubectl needs for a dry run: the kinds that exist, and
// the objects that are there. It refuses every write.
type apiServer struct {
	t       *testing.T
	mu      sync.Mutex
	objects map[string][]byte // by path
}

// plural is the name of a kind in paths.
func plural(kind string) string {
	kind = strings.ToLower(kind)
	switch {
	case strings.HasSuffix(kind, "y"):
		return strings.TrimSuffix(kind, "y") + "ies"
	case strings.HasSuffix(kind, "s"):
		return kind + "es"
	}
	return kind + "s"
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		s.t.Errorf("a dry run writes: %s %s", r.Method, r.URL.Path)
	}
	w.Header().Set("Content-Type", "application/json")
	answer := func(v any) {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			s.t.Error(err)
		}
	}
	versions := map[string][]meta.APIResource{}
	for name := range kinds {
		version, kind, _ := strings.Cut(name, " ")
		versions[version] = append(versions[version], meta.APIResource{
			Name: plural(kind), SingularName: strings.ToLower(kind), Kind: kind, Namespaced: kind != "Namespace", Verbs: meta.Verbs{"get", "list", "create", "patch", "delete"},
		})
	}
	versions["v1"] = append(versions["v1"], meta.APIResource{Name: "secrets", SingularName: "secret", Kind: "Secret", Namespaced: true, Verbs: meta.Verbs{"get", "create"}})
	switch path := r.URL.Path; path {
	case "/api":
		answer(meta.APIVersions{TypeMeta: meta.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case "/apis":
		all := meta.APIGroupList{TypeMeta: meta.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for version := range versions {
			if group, v, ok := strings.Cut(version, "/"); ok {
				one := meta.GroupVersionForDiscovery{GroupVersion: version, Version: v}
				all.Groups = append(all.Groups, meta.APIGroup{Name: group, Versions: []meta.GroupVersionForDiscovery{one}, PreferredVersion: one})
			}
		}
		answer(all)
	default:
		version := strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
		if resources, ok := versions[version]; ok {
			answer(meta.APIResourceList{TypeMeta: meta.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version, APIResources: resources})
			return
		}
		s.mu.Lock()
		object, ok := s.objects[path]
		s.mu.Unlock()
		if ok {
			_, _ = w.Write(object)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		answer(meta.Status{TypeMeta: meta.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: "NotFound", Code: http.StatusNotFound})
	}
}

// add adds an object.
func (s *apiServer) add(object any) {
	kind := object.(interface{ GetObjectKind() schema.ObjectKind }).GetObjectKind().GroupVersionKind()
	at := "/apis/" + kind.GroupVersion().String()
	if kind.Group == "" {
		at = "/api/v1"
	}
	named := object.(meta.Object)
	if kind.Kind != "Namespace" {
		at += "/namespaces/" + named.GetNamespace()
	}
	text := must.Get(json.Marshal(object))(s.t)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[at+"/"+plural(kind.Kind)+"/"+named.GetName()] = text
}

// noKubectlVariable contains the reason why there is no kubectl. Without it, a
// missing kubectl is a failure in a full test run.
const noKubectlVariable = "PREISMON_TEST_NO_KUBECTL"

// TestKubectl: the commands of the how-tos run as written, up to the dry run
// against a server that has what they have created by then; and kubectl builds
// the same as the kustomize library, with which TestHowTo builds on every
// machine.
func TestKubectl(t *testing.T) {
	effort.Full(t, "a kubectl")
	program, err := exec.LookPath("kubectl")
	if reason := os.Getenv(noKubectlVariable); err != nil && reason != "" {
		t.Skipf("NOT tested with a real kubectl: %s", reason)
	}
	if err != nil {
		t.Fatalf("this test needs kubectl 1.21 or newer on PATH; or give the reason why there is none in %s", noKubectlVariable)
	}
	server := &apiServer{t: t, objects: map[string][]byte{}}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	root := t.TempDir()
	must.Do(t, os.CopyFS(filepath.Join(root, "deploy", "kubernetes"), os.DirFS(".")))
	at := root // where the reader is
	kubectl := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append([]string{"--server", listening.URL}, args...)...)
		cmd.Dir, cmd.Env = at, append(os.Environ(), "HOME="+root, "KUBECONFIG="+filepath.Join(root, "none"))
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("kubectl %v: %v\n%s", args, err, said.String())
		}
		return string(out)
	}
	var text []byte // an upgrade is of what is running
	for _, name := range []string{"run-on-kubernetes.md", "upgrade.md"} {
		part := must.Get(os.ReadFile("../docs/how-to/" + name))(t)
		text = append(text, part...)
	}
	done := map[string]int{}
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			words := strings.Fields(line)
			at = follow(t, at, line)
			switch {
			case strings.HasPrefix(line, "cp -r "):
				if out, err := (&exec.Cmd{Path: "/bin/cp", Args: words, Dir: at}).CombinedOutput(); err != nil {
					t.Fatalf("%s: %s", line, out)
				}
			case words[0] != "kubectl":
			case slices.Contains(words, "apply"):
				folder := words[slices.Index(words, "-k")+1]
				objects := must.Get(render(filepath.Join(at, folder)))(t)
				same(t, objects, kubectl("kustomize", folder))
				out := kubectl(append(words[1:], "--dry-run=client", "--validate=false", "-o", "name")...)
				if n := strings.Count(out, "\n"); n != len(objects) {
					t.Errorf("%s applies %d objects, built are %d:\n%s", line, n, len(objects), out)
				}
				for _, o := range objects {
					server.add(o)
				}
				done["apply"]++
			case slices.Contains(words, "create"):
				for _, w := range words {
					if name, ok := strings.CutPrefix(w, "--from-file="); ok {
						must.Do(t, os.WriteFile(filepath.Join(at, name), []byte("x"), 0o600))
					}
				}
				out := kubectl(append(words[1:], "--dry-run=client", "--validate=false", "-o", "name")...)
				if want := fmt.Sprintf("/%s\n", name(words)); !strings.HasSuffix(out, want) {
					t.Errorf("%s makes %q, want %q", line, out, want)
				}
				done["create"]++
			case slices.Contains(words, "delete"):
				kubectl(append(words[1:], "--dry-run=client", "-o", "name")...)
				done["delete"]++
			case slices.ContainsFunc(words, func(w string) bool { return w == "wait" || w == "rollout" || w == "get" }): // TestHowTo checks what they name
			default:
				t.Errorf("not run: %s", line)
			}
		}
	}
	if done["apply"] != 3 || done["create"] != 5 || done["delete"] != 2 {
		t.Errorf("run were %v: the commands were not read", done)
	}
}

// name returns the last word of a command that is not a flag: the name of what
// it creates.
func name(words []string) string {
	last := ""
	for _, w := range words {
		if !strings.HasPrefix(w, "-") {
			last = w
		}
	}
	return last
}

// same compares what two programs built from a folder.
func same(t *testing.T, objects []any, text string) {
	t.Helper()
	form := func(v any) string {
		b := must.Get(yaml.Marshal(v))(t)
		return string(b)
	}
	var want, got []string
	for _, o := range objects {
		want = append(want, form(o))
	}
	for document := range strings.SplitSeq(text, "\n---\n") {
		o, err := decode([]byte(document))
		if err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		got = append(got, form(o))
	}
	slices.Sort(want)
	slices.Sort(got)
	equals.Checkf(t, want, got, "kubectl builds something else")
}

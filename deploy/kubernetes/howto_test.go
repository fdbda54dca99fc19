package kubernetes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"preismon/deploy/testserver/must"
)

// TestHowTo runs the commands of the how-to as far as possible without a
// cluster. The copy is created as written, next to the files that it is a copy
// of, and built as `kubectl apply -k` builds it, both from the folder that the
// reader is in by then, where the files of the Secrets are; whatever kubectl must
// wait for, follow or delete is among what was built, in the namespace that was
// created.
func TestHowTo(t *testing.T) {
	root := t.TempDir()
	must.Do(t, os.CopyFS(filepath.Join(root, "deploy", "kubernetes"), os.DirFS(".")))
	text := must.Get(os.ReadFile("../docs/how-to/run-on-kubernetes.md"))(t)
	at := root // where the reader is
	written := regexp.MustCompile(`(?:> |-out )([a-z-]+)\n`)
	var copied, applied, secrets int
	var built, named []string // kind/name
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			words := strings.Fields(line)
			at = follow(t, at, line)
			if file := written.FindStringSubmatch(line); file != nil {
				must.Do(t, os.WriteFile(filepath.Join(at, file[1]), nil, 0o600))
			}
			for _, file := range regexp.MustCompile(`--from-file=([a-z-]+)`).FindAllStringSubmatch(line, -1) {
				if _, err := os.Stat(filepath.Join(at, file[1])); err != nil {
					t.Errorf("%s%v", line, err)
				}
				secrets++
			}
			switch {
			case strings.HasPrefix(line, "cp -r "):
				cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
				cmd.Dir = at
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s%v: %s", line, err, out)
				}
				copied++
			case words[0] != "kubectl":
			case slices.Contains(words, "apply"):
				folder := filepath.Join(at, words[slices.Index(words, "-k")+1])
				objects, err := render(folder)
				if err != nil {
					t.Fatalf("%s%v", line, err)
				}
				for _, o := range objects {
					object := o.(meta.Object)
					kind := o.(interface{ GetObjectKind() schema.ObjectKind }).GetObjectKind().GroupVersionKind().Kind
					built = append(built, strings.ToLower(kind)+"/"+object.GetName())
					if n := object.GetNamespace(); n != "preismon" && kind != "Namespace" {
						t.Errorf("%s is in the namespace %q", object.GetName(), n)
					}
				}
				applied++
			default:
				for _, m := range regexp.MustCompile(`\b(job|cronjob|deployment|namespace)[/ ](preismon[a-z-]*)`).FindAllStringSubmatch(line, -1) {
					named = append(named, m[1]+"/"+m[2])
				}
			}
		}
	}
	for _, n := range named {
		if !slices.Contains(built, n) {
			t.Errorf("the how-to names %s, which is not built", n)
		}
	}
	if copied != 1 || applied < 2 || len(named) < 5 || secrets < 9 {
		t.Errorf("%d copies, %d built, %v named, %d secrets: the commands were not read", copied, applied, named, secrets)
	}
}

// follow returns the folder in which the reader of a how-to is after a line that
// begins with cd, or that makes a folder and goes into it; otherwise at.
func follow(t *testing.T, at, line string) string {
	t.Helper()
	goes := regexp.MustCompile(`^(mkdir -p \S+ && )?cd (\S+)`).FindStringSubmatch(line)
	if goes == nil {
		return at
	}
	at = filepath.Join(at, goes[2])
	if goes[1] != "" {
		must.Do(t, os.MkdirAll(at, 0o700))
	}
	return at
}

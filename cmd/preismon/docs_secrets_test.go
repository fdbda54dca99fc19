package main

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"preismon/deploy/testserver/must"
)

// TestDocsSecrets: the how-to creates each Secret with the keys that the
// manifests of deploy/kubernetes/parts mount, and no others.
func TestDocsSecrets(t *testing.T) {
	t.Parallel()
	want := map[string]map[string]bool{}
	files := must.Get(filepath.Glob(filepath.Join(rootFolder, "deploy", "kubernetes", "parts", "*", "*.yaml")))(t)
	mounted := regexp.MustCompile(`(?s)secretName: (\S+)\n(.*?)(?:\n---|$)`)
	key := regexp.MustCompile(`\{ key: (\S+), path: \S+ \}`)
	for _, f := range files {
		for _, m := range mounted.FindAllStringSubmatch(string(read(t, f)), -1) {
			add(want, m[1], key.FindAllStringSubmatch(m[2], -1))
		}
	}
	if len(want) != 2 || len(want["preismon"]) < 6 {
		t.Fatalf("the manifests ask for %v", want)
	}
	made := regexp.MustCompile(`create secret generic (\S+) (.*)`)
	file := regexp.MustCompile(`--from-file=(\S+)`)
	got := map[string]map[string]bool{}
	for _, m := range made.FindAllStringSubmatch(string(read(t, filepath.Join(docsFolder, "how-to", "run-on-kubernetes.md"))), -1) {
		add(got, m[1], file.FindAllStringSubmatch(m[2], -1))
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !maps.Equal(want[name], got[name]) {
			t.Errorf("Secret %s: the how-to has the keys %v, the manifests ask for %v", name, slices.Sorted(maps.Keys(got[name])), slices.Sorted(maps.Keys(want[name])))
		}
	}
}

func add(to map[string]map[string]bool, secret string, keys [][]string) {
	if to[secret] == nil {
		to[secret] = map[string]bool{}
	}
	for _, k := range keys {
		to[secret][k[1]] = true
	}
}

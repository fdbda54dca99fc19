package compose_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"preismon/deploy/testserver/must"
)

// service is the part of a service in docker-compose.yml that the test checks.
type service struct {
	Image       string
	Build       map[string]any
	ReadOnly    bool     `yaml:"read_only"`
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
	Restart     string
	Ports       []string
	Volumes     []string
	Secrets     []string
	Healthcheck struct{ Disable bool }
	StopGrace   string `yaml:"stop_grace_period"`
	Deploy      struct {
		Resources struct {
			Limits struct {
				CPUs, Memory string
				PIDs         int
			}
		}
	}
}

type composeFile struct {
	Services map[string]service
	Volumes  map[string]any
	Secrets  map[string]struct{ File string }
}

func readCompose(t *testing.T, name string) (f composeFile) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(root, name)))(t)
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.AllowDuplicateMapKey()); err != nil { // of merged anchors {
		t.Fatal(err)
	}
	return f
}

// TestFile checks every service, including those that TestCompose cannot run.
func TestFile(t *testing.T) {
	f := readCompose(t, "docker-compose.yml")
	if len(f.Services) != 9 {
		t.Fatalf("%d services", len(f.Services))
	}
	pinned := regexp.MustCompile(`^\$\{[A-Z0-9_]+:-([a-z0-9-]+/)?[a-z0-9-]+:[a-z0-9.-]+\}$`) // no host, but a tag
	used := map[string]bool{}
	for name, s := range f.Services {
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) {
			t.Errorf("%s is not hardened: %+v", name, s)
		}
		if l := s.Deploy.Resources.Limits; l.CPUs == "" || l.Memory == "" || l.PIDs == 0 {
			t.Errorf("%s has no limits: %+v", name, l)
		}
		if once := name == "migrate"; once != s.Healthcheck.Disable || once != (s.Restart == "no") || once != (s.StopGrace == "") {
			t.Errorf("%s: health %+v, restart %s, stop %s", name, s.Healthcheck, s.Restart, s.StopGrace)
		}
		if !pinned.MatchString(s.Image) || strings.Contains(s.Image, "latest") {
			t.Errorf("%s: image %s is not pinned, or names a registry", name, s.Image)
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to other machines", name, p)
			}
		}
		for _, v := range s.Volumes {
			from, to, _ := strings.Cut(v, ":")
			if !strings.HasPrefix(from, ".") {
				if _, ok := f.Volumes[from]; !ok {
					t.Errorf("%s: no volume %s", name, from)
				}
				continue
			}
			if _, err := os.Stat(filepath.Join(root, from)); err != nil || !strings.HasSuffix(to, ":ro") {
				t.Errorf("%s: %s: %v", name, v, err)
			}
		}
		for _, secret := range s.Secrets {
			used[secret] = true
			if _, ok := f.Secrets[secret]; !ok {
				t.Errorf("%s: no secret %s", name, secret)
			}
		}
	}
	if len(used) != len(f.Secrets) {
		t.Errorf("used %v of %d secrets", used, len(f.Secrets))
	}
}

// TestAlternative: RustFS gets the data and the secrets that MinIO gets.
func TestAlternative(t *testing.T) {
	text := must.Get(os.ReadFile("rustfs.yml"))(t)
	s3 := readCompose(t, "docker-compose.yml").Services["s3"]
	for _, must := range append([]string{"/data", ":9000"}, s3.Secrets...) {
		if !strings.Contains(string(text), must) {
			t.Errorf("rustfs.yml does not say %s", must)
		}
	}
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"

	"github.com/goccy/go-yaml"
	"golang.org/x/crypto/bcrypt"
)

// deployed is a role as a file under deploy/ starts it.
type deployed struct {
	where string
	args  []string
	env   map[string]string
}

// composed reads the roles of docker-compose.yml, with the defaults of its variables.
func composed(t *testing.T) (all []deployed) {
	t.Helper()
	var file struct {
		Services map[string]struct {
			Command     []string          `yaml:"command"`
			Build       map[string]any    `yaml:"build"`
			Environment map[string]string `yaml:"environment"`
		} `yaml:"services"`
	}
	text := string(read(t, "../../docker-compose.yml"))
	for inner := regexp.MustCompile(`\$\{[A-Z0-9_]+:-([^${}]*)\}`); inner.MatchString(text); {
		text = inner.ReplaceAllString(text, "$1")
	}
	must.Do(t, yaml.UnmarshalWithOptions([]byte(text), &file, yaml.AllowDuplicateMapKey()))
	for name, s := range file.Services {
		if s.Build["target"] == "preismon" {
			all = append(all, deployed{"docker-compose.yml " + name, s.Command, s.Environment})
		}
	}
	return all
}

// orchestrated reads the roles of the manifests for Kubernetes.
func orchestrated(t *testing.T) (all []deployed) {
	t.Helper()
	files := must.Get(filepath.Glob("../../deploy/kubernetes/parts/*/*.yaml"))(t)
	type pod struct {
		Containers []struct{ Args []string }
	}
	configs, roles := map[string]map[string]string{}, map[string][]string{}
	for _, name := range files {
		for dec := yaml.NewDecoder(bytes.NewReader(read(t, name))); ; {
			var o struct {
				Kind     string
				Metadata struct{ Name string }
				Data     map[string]string
				Spec     struct {
					Template struct {
						Spec pod
					}
					JobTemplate struct {
						Spec struct {
							Template struct{ Spec pod }
						}
					} `yaml:"jobTemplate"`
				}
			}
			if err := dec.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if o.Kind == "ConfigMap" {
				configs[o.Metadata.Name] = o.Data
			}
			for _, c := range append(o.Spec.Template.Spec.Containers, o.Spec.JobTemplate.Spec.Template.Spec.Containers...) {
				for _, a := range c.Args {
					// Expanded as Kubernetes does it; the config map has the
					// same name.
					roles[o.Metadata.Name] = append(roles[o.Metadata.Name], strings.ReplaceAll(a, "$(POD_NAME)", o.Metadata.Name+"-29000000-x7k2p"))
				}
			}
		}
	}
	for name, args := range roles {
		all = append(all, deployed{"kubernetes " + name, args, configs[name]})
	}
	return all
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text := must.Get(os.ReadFile(name))(t)
	return text
}

// imageEnv is what deploy/Dockerfile sets.
func imageEnv(t *testing.T) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, m := range regexp.MustCompile(`(PREISMON_[A-Z_]+)=(\S+)`).FindAllStringSubmatch(string(read(t, "../../deploy/Dockerfile")), -1) {
		env[m[1]] = m[2]
	}
	if len(env) != 3 {
		t.Fatalf("the image sets %v", env)
	}
	return env
}

// TestDeployed: each variable of docker-compose.yml, of the manifests and of
// the image is a flag of its role that accepts the value, and with secrets from
// `preismon secrets` the whole configuration is valid.
func TestDeployed(t *testing.T) {
	t.Parallel()
	secrets := t.TempDir()
	exits(t, 0)(inProcess(t, "secrets", secrets))
	// Chosen by hand, as the how-to instructs.
	must.Do(t, os.WriteFile(filepath.Join(secrets, "import-password"), []byte("ohZoo7Quae3aetho"), 0o600))
	incoming := t.TempDir()
	roles := slices.Concat(composed(t), orchestrated(t))
	if len(roles) != 4+6 {
		t.Fatalf("%d roles", len(roles))
	}
	image := imageEnv(t)
	for _, d := range roles {
		t.Run(d.where, func(t *testing.T) {
			env := maps.Clone(image)
			for name, value := range d.env {
				if dir, base := filepath.Split(strings.TrimPrefix(value, "@")); strings.HasPrefix(dir, "/run/secrets/") {
					value = strings.Replace(value, dir+base, filepath.Join(secrets, base), 1)
				}
				env[name] = strings.Replace(value, "/incoming", incoming, 1) // a volume
			}
			var set []string
			for name, value := range env {
				set = append(set, name+"="+value)
			}
			got, faults := printed(t, set, d.args...)
			if faults != "" {
				t.Errorf("not valid: %s", faults)
			}
			for name := range d.env {
				if _, ok := got[flagName(name)]; !ok {
					t.Errorf("%s is not a flag of %v", name, d.args)
				}
			}
			for name, value := range env {
				if is, ok := got[flagName(name)]; ok && !strings.HasPrefix(value, "@") && strings.Trim(is, "[]") != value && !sameDuration(is, value) {
					t.Errorf("%s is %q, want %q", name, is, value)
				}
			}
			if _, isServer := got["admin-listen"]; isServer && got["admin-listen"] != "0.0.0.0:9090" || got["listen"] != "" && got["listen"] != "0.0.0.0:8080" {
				t.Errorf("it listens on %q and %q, the files say 8080 and 9090", got["listen"], got["admin-listen"])
			}
		})
	}
}

func flagName(variable string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, "PREISMON_")), "_", "-")
}

// TestSecrets: the secrets that docker-compose.yml names are created, only
// once, and match one another.
func TestSecrets(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "secrets")
	for i, want := range []string{"Made ", "stay as they are"} {
		if i > 0 { // a folder that was there is closed as well
			must.Do(t, os.Chmod(dir, 0o755))
		}
		before, _ := os.ReadFile(filepath.Join(dir, "archive"))
		exits(t, 0, want)(inProcess(t, "secrets", dir))
		if after := read(t, filepath.Join(dir, "archive")); i > 0 && !bytes.Equal(before, after) {
			t.Error("a new secret was made")
		}
	}
	var file struct {
		Secrets map[string]struct{ File string }
	}
	must.Do(t, yaml.UnmarshalWithOptions(read(t, "../../docker-compose.yml"), &file, yaml.AllowDuplicateMapKey()))
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		if file.Secrets[e.Name()].File != "./deploy/secrets/"+e.Name() {
			t.Errorf("docker-compose.yml does not know %s", e.Name())
		}
		// Containers run as users of their own, and mount single files.
		if info, err := e.Info(); err != nil || info.Mode() != 0o444 {
			t.Errorf("%s: %v %v", e.Name(), info.Mode(), err)
		}
	}
	if len(entries) != len(file.Secrets) {
		t.Errorf("%d files, %d secrets", len(entries), len(file.Secrets))
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others may enter the folder: %v %v", info.Mode(), err)
	}
	u := must.Get(url.Parse(string(read(t, filepath.Join(dir, "nats-url")))))(t)
	password, _ := u.User.Password()
	hash := regexp.MustCompile(`"(.*)"`).FindSubmatch(read(t, filepath.Join(dir, "nats-users")))
	if hash == nil || bcrypt.CompareHashAndPassword(hash[1], []byte(password)) != nil {
		t.Error("the password of NATS is not the one in its address")
	}
	must.Do(t, os.Remove(filepath.Join(dir, "query-dsn")))
	exits(t, exitFailed, "admin-dsn, archive")(inProcess(t, "secrets", dir))
}

// TestHealth checks a role that is ready, one that is not, and one that does
// not exist.
func TestHealth(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "this is %s\n", r.URL.Path)
	}))
	defer server.Close()
	at := strings.TrimPrefix(server.URL, "http://")
	_, port, _ := strings.Cut(at, ":")
	for _, args := range [][]string{{"--admin-listen", at}, {"--admin-listen", "0.0.0.0:" + port}} {
		if out, errs, code := inProcess(t, append([]string{"health"}, args...)...); code != 0 || out != "this is /readyz\n" || errs != "" {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
	}
	exits(t, 0)(preismon(t, []string{"PREISMON_ADMIN_LISTEN=" + at}, "health"))
	if out, _, code := inProcess(t, "health", "--health-url", server.URL+"/else"); code != 0 || out != "this is /else\n" {
		t.Errorf("elsewhere: exit code %d: %s", code, out)
	}
	status = http.StatusServiceUnavailable
	exits(t, exitFailed, "503 Service Unavailable this is /readyz")(inProcess(t, "health", "--admin-listen", at))
	server.Close()
	exits(t, exitFailed, "refused")(inProcess(t, "health", "--admin-listen", at))
}

// TestMarket: the market fills streams of its own servers, goes on, stops, and
// resumes from the same place the next time.
func TestMarket(t *testing.T) {
	t.Parallel()
	nats, dir := testserver.NATS(t), filepath.Join(t.TempDir(), "market")
	bucket, _ := bucketURL(t, true)
	args := []string{"market", "--nats-url", nats, "--data-dir", dir, "--archive", bucket, "--demo-scale", "0.02", "--admin-listen", "127.0.0.1:0"}
	var logins []byte
	for i := range 2 {
		r := startRole(t, args...)
		must.Eventually(t, time.Minute, "the market is ready", r.Ready)
		accounts := read(t, filepath.Join(dir, demoAccountsFile))
		if !bytes.Contains(accounts, []byte("loginIdentifier")) || i > 0 && !bytes.Equal(accounts, logins) {
			t.Errorf("the logins are %s, before %s", accounts, logins)
		}
		logins = accounts
		r.terminate()
	}
	exits(t, exitUsage, "url: missing")(inProcess(t, "market"))
}

// sameDuration reports whether two texts are the same duration, as 2160h and
// 2160h0m0s are.
func sameDuration(a, b string) bool {
	x, errX := time.ParseDuration(a)
	y, errY := time.ParseDuration(b)
	return errX == nil && errY == nil && x == y
}

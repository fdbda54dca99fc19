package kubernetes_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	networking "k8s.io/api/networking/v1"

	"preismon/deploy/testserver/must"
)

// TestFlags: every variable of a role is one that the role knows.
func TestFlags(t *testing.T) {
	text := must.Get(os.ReadFile("../docs/reference/configuration.md"))(t)
	known := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## preismon ")[1:] {
		role, table, _ := strings.Cut(section, "\n")
		known[role] = table
	}
	for _, folder := range folders {
		c := rendered(t, folder)
		for _, w := range c.workloads {
			for name := range c.configs[w.pod.Containers[0].EnvFrom[0].ConfigMapRef.Name].Data {
				if !strings.Contains(known[strings.Join(w.command(), " ")], "| `"+name+"` |") {
					t.Errorf("%s: %s: there is no %s", folder, w.name, name)
				}
			}
		}
	}
}

// secrets: each file that the environment names is mounted, no others are, and
// only migrations and backups have the administrator's.
func (c cluster) secrets(t *testing.T, folder string) {
	t.Helper()
	for _, w := range c.workloads {
		mounted := map[string]bool{}
		var own []string // folders that are not secrets
		for _, v := range w.pod.Volumes {
			if v.Secret == nil {
				for _, m := range w.pod.Containers[0].VolumeMounts {
					if m.Name == v.Name {
						own = append(own, m.MountPath)
					}
				}
				continue
			}
			if admin := strings.HasPrefix(v.Secret.SecretName, "preismon-admin"); admin != (w.role() == "migrate" || w.role() == "backup") {
				t.Errorf("%s: %s has the secret %s", folder, w.name, v.Secret.SecretName)
			}
			for _, m := range w.pod.Containers[0].VolumeMounts {
				for _, item := range v.Secret.Items {
					if m.Name == v.Name && m.ReadOnly {
						mounted[m.MountPath+"/"+item.Path] = true
					}
				}
			}
		}
		for _, from := range w.pod.Containers[0].EnvFrom {
			config, ok := c.configs[from.ConfigMapRef.Name]
			if !ok {
				t.Errorf("%s: %s names no config map: %s", folder, w.name, from.ConfigMapRef.Name)
			}
			for name, value := range config.Data {
				inOwn := slices.ContainsFunc(own, func(o string) bool { return value == o || strings.HasPrefix(value, o+"/") })
				if path := strings.TrimPrefix(value, "@"); strings.HasPrefix(path, "/") && !inOwn {
					if !mounted[path] {
						t.Errorf("%s: %s: %s=%s is not mounted", folder, w.name, name, value)
					}
					delete(mounted, path)
				}
			}
		}
		if len(mounted) > 0 {
			t.Errorf("%s: %s has secrets that it does not use: %v", folder, w.name, mounted)
		}
	}
}

// closed: every pod has a policy for both directions, and apart from the admin
// ports only the public port of the query service is open.
func (c cluster) closed(t *testing.T, folder string) {
	t.Helper()
	for _, w := range c.workloads {
		in, out := map[int32]bool{}, false
		for _, p := range c.policies {
			if !selects(t, &p.Spec.PodSelector, w.labels) {
				continue
			}
			out = out || slices.Contains(p.Spec.PolicyTypes, networking.PolicyTypeEgress)
			for _, rule := range p.Spec.Ingress {
				if len(rule.From) == 0 {
					t.Errorf("%s: policy %s lets everybody in", folder, p.Name)
				}
				for _, port := range rule.Ports {
					in[port.Port.IntVal] = true
				}
			}
		}
		if !out || in[8080] != (w.role() == "query") || !in[9090] || len(in) > 2 {
			t.Errorf("%s: %s: in %v, out restricted: %t", folder, w.name, in, out)
		}
	}
}

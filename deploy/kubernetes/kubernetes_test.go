package kubernetes_test

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// workload is an object that creates pods.
type workload struct {
	name   string
	labels labels.Set // of its pods
	pod    core.PodSpec
}

// cluster is a rendered folder, by kind.
type cluster struct {
	workloads []workload
	configs   map[string]core.ConfigMap
	services  []core.Service
	budgets   []policy.PodDisruptionBudget
	scalers   []autoscaling.HorizontalPodAutoscaler
	policies  []networking.NetworkPolicy
	ingresses []networking.Ingress
	monitors  []podMonitor
	claims    []string
	replicas  map[string]*int32
}

// renders renders each folder once: what comes of it is only read.
var renders = func() map[string]func() ([]any, error) {
	all := map[string]func() ([]any, error){}
	for _, folder := range folders {
		all[folder] = sync.OnceValues(func() ([]any, error) { return render(folder) })
	}
	return all
}()

func rendered(t *testing.T, folder string) cluster {
	t.Helper()
	objects := must.Get(renders[folder]())(t)
	c := cluster{configs: map[string]core.ConfigMap{}, replicas: map[string]*int32{}}
	for _, o := range objects {
		switch o := o.(type) {
		case *apps.Deployment:
			c.workloads = append(c.workloads, workload{o.Name, o.Spec.Template.Labels, o.Spec.Template.Spec})
			c.replicas[o.Name] = o.Spec.Replicas
			if !selects(t, o.Spec.Selector, o.Spec.Template.Labels) {
				t.Errorf("deployment %s does not select its own pods", o.Name)
			}
		case *batch.Job:
			c.workloads = append(c.workloads, workload{o.Name, o.Spec.Template.Labels, o.Spec.Template.Spec})
		case *batch.CronJob:
			pod := o.Spec.JobTemplate.Spec.Template
			c.workloads = append(c.workloads, workload{o.Name, pod.Labels, pod.Spec})
			c.timed(t, o)
		case *core.ConfigMap:
			c.configs[o.Name] = *o
		case *core.Service:
			c.services = append(c.services, *o)
		case *policy.PodDisruptionBudget:
			c.budgets = append(c.budgets, *o)
		case *autoscaling.HorizontalPodAutoscaler:
			c.scalers = append(c.scalers, *o)
		case *networking.NetworkPolicy:
			c.policies = append(c.policies, *o)
		case *networking.Ingress:
			c.ingresses = append(c.ingresses, *o)
		case *podMonitor:
			c.monitors = append(c.monitors, *o)
		case *core.PersistentVolumeClaim:
			c.claims = append(c.claims, o.Name)
		}
	}
	if want := 2 + 4*shards[folder]; len(c.workloads) != want {
		t.Fatalf("%d workloads in %s, want %d", len(c.workloads), folder, want)
	}
	return c
}

func selects(t *testing.T, s *meta.LabelSelector, of labels.Set) bool {
	t.Helper()
	selector := must.Get(meta.LabelSelectorAsSelector(s))(t)
	return !selector.Empty() && selector.Matches(of)
}

// selected returns the names of the workloads whose pods a selector matches.
func (c cluster) selected(t *testing.T, s *meta.LabelSelector) (names []string) {
	t.Helper()
	for _, w := range c.workloads {
		if selects(t, s, w.labels) {
			names = append(names, w.name)
		}
	}
	slices.Sort(names)
	return names
}

var folders = []string{"base", "overlays/example", "overlays/shards"}

// shards is the number of shards of each folder.
var shards = map[string]int{"base": 1, "overlays/example": 1, "overlays/shards": 2}

// command is the preismon command that the workload runs, without its flags.
func (w workload) command() []string {
	return slices.DeleteFunc(slices.Clone(w.pod.Containers[0].Args), func(a string) bool { return strings.HasPrefix(a, "-") })
}

// role is the role of the workload, without its shard.
func (w workload) role() string { return w.labels["app.kubernetes.io/component"] }

// TestRestricted: every pod meets the restricted Pod Security Standard, and
// more.
func TestRestricted(t *testing.T) {
	for _, folder := range folders {
		c := rendered(t, folder)
		for _, w := range c.workloads {
			p, s := w.pod, w.pod.SecurityContext
			if s == nil || !is(s.RunAsNonRoot) || s.RunAsUser == nil || *s.RunAsUser == 0 || s.SeccompProfile == nil || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s %s: security context %+v", folder, w.name, s)
			}
			if p.HostNetwork || p.HostPID || p.HostIPC || p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken || p.ServiceAccountName != "preismon" {
				t.Errorf("%s %s: host or token", folder, w.name)
			}
			if p.EnableServiceLinks == nil || *p.EnableServiceLinks {
				t.Errorf("%s %s: variables PREISMON_... of services would be taken for flags", folder, w.name)
			}
			for _, v := range p.Volumes {
				claimed := v.PersistentVolumeClaim != nil && slices.Contains(c.claims, v.PersistentVolumeClaim.ClaimName)
				if v.Secret == nil && v.EmptyDir == nil && v.ConfigMap == nil && !claimed {
					t.Errorf("%s %s: volume %s", folder, w.name, v.Name)
				}
			}
			for _, c := range p.Containers {
				cs := c.SecurityContext
				if cs == nil || cs.AllowPrivilegeEscalation == nil || *cs.AllowPrivilegeEscalation || !is(cs.ReadOnlyRootFilesystem) ||
					cs.Capabilities == nil || !slices.Equal(cs.Capabilities.Drop, []core.Capability{"ALL"}) || len(cs.Capabilities.Add) > 0 {
					t.Errorf("%s %s: container's security context %+v", folder, w.name, cs)
				}
				if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
					t.Errorf("%s %s: resources %+v", folder, w.name, c.Resources)
				}
				if len(c.Command) > 0 { // the image's entrypoint is the program
					t.Errorf("%s %s: command %v", folder, w.name, c.Command)
				}
			}
		}
	}
}

func is(b *bool) bool { return b != nil && *b }

// TestRolling: a node that is stopped receives no more requests before it
// stops, and is waited for; a node that starts receives requests when it is
// ready.
func TestRolling(t *testing.T) {
	for _, w := range rendered(t, "base").workloads {
		if !w.stays() {
			continue
		}
		c := w.pod.Containers[0]
		for name, probe := range map[string]*core.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
			want := "/livez"
			if name == "readiness" {
				want = "/readyz"
			}
			if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != want || probe.HTTPGet.Port.StrVal != "admin" {
				t.Errorf("%s: %s probe %+v", w.name, name, probe)
			}
		}
		// /readyz itself allows its checks 3 s.
		if c.ReadinessProbe.TimeoutSeconds <= 3 {
			t.Errorf("%s: the readiness probe gives up before /readyz does", w.name)
		}
		pause, stop := time.Duration(0), map[string]time.Duration{"preismon-query": 20 * time.Second, "preismon-projector": 30 * time.Second, "preismon-ingest": 30 * time.Second}[w.name]
		if c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
			if c.Lifecycle.PreStop.Sleep == nil { // any other hook needs a program in the image
				t.Fatalf("%s: before its stop %+v", w.name, c.Lifecycle.PreStop)
			}
			pause = time.Duration(c.Lifecycle.PreStop.Sleep.Seconds) * time.Second
		}
		if w.name == "preismon-query" && pause < 5*time.Second {
			t.Errorf("%s stops before balancers know", w.name)
		}
		if grace := time.Duration(*w.pod.TerminationGracePeriodSeconds) * time.Second; grace < pause+stop+5*time.Second {
			t.Errorf("%s is killed after %v, its stop may take %v", w.name, grace, pause+stop)
		}
		if w.spread() && len(w.pod.TopologySpreadConstraints) < 2 {
			t.Errorf("%s is not spread", w.name)
		}
		for _, s := range w.pod.TopologySpreadConstraints {
			if s.WhenUnsatisfiable != core.ScheduleAnyway { // the type accepts any text
				t.Errorf("%s: %q would keep pods from starting", w.name, s.WhenUnsatisfiable)
			}
			if !selects(t, s.LabelSelector, w.labels) {
				t.Errorf("%s is spread by the labels of others: %v", w.name, s.LabelSelector)
			}
		}
	}
}

// TestNames: every reference names something that exists.
func TestNames(t *testing.T) {
	for _, folder := range folders {
		c := rendered(t, folder)
		for _, b := range c.budgets {
			if got := c.selected(t, b.Spec.Selector); len(got) != 1 || got[0] != b.Name {
				t.Errorf("%s: budget %s is for %v", folder, b.Name, got)
			}
		}
		for _, s := range c.scalers {
			r, ok := c.replicas[s.Spec.ScaleTargetRef.Name]
			if !ok || r != nil || *s.Spec.MinReplicas < 2 || s.Spec.MaxReplicas <= *s.Spec.MinReplicas {
				t.Errorf("%s: scaler %s: %+v; replicas %v", folder, s.Name, s.Spec, r)
			}
		}
		var watched []string
		for _, w := range c.workloads {
			if r := c.replicas[w.name]; w.role() == "projector" && (r == nil || *r != 2) {
				t.Errorf("%s: %s has no standby: %v", folder, w.name, r)
			}
			if w.stays() {
				watched = append(watched, w.name)
			}
		}
		slices.Sort(watched)
		for _, s := range c.services {
			got := c.selected(t, &meta.LabelSelector{MatchLabels: s.Spec.Selector})
			if len(got) != 1 || got[0] != s.Name || len(s.Spec.Ports) != 1 || c.port(got[0], s.Spec.Ports[0].TargetPort.StrVal) != 8080 {
				t.Errorf("%s: service %s is for %v, %+v", folder, s.Name, got, s.Spec.Ports)
			}
		}
		for _, i := range c.ingresses {
			backend := i.Spec.Rules[0].HTTP.Paths[0].Backend.Service
			if backend.Name != c.services[0].Name || backend.Port.Name != c.services[0].Spec.Ports[0].Name {
				t.Errorf("%s: ingress %s goes to %+v", folder, i.Name, backend)
			}
			equals.Is(t, "https://"+i.Spec.Rules[0].Host, c.configs["preismon-query"].Data["PREISMON_BASE_URL"], "%s: the base URL is, the ingress is at %s", folder, i.Spec.Rules[0].Host)
		}
		for _, m := range c.monitors {
			got := c.selected(t, &m.Spec.Selector)
			if !slices.Equal(got, watched) || c.port(got[0], m.Spec.PodMetricsEndpoints[0].Port) != 9090 {
				t.Errorf("%s: monitor %s: %v", folder, m.Name, got)
			}
		}
		c.sharded(t, folder)
		c.secrets(t, folder)
		c.closed(t, folder)
	}
}

func (c cluster) port(of, name string) int32 {
	for _, w := range c.workloads {
		for _, p := range w.pod.Containers[0].Ports {
			if w.name == of && p.Name == name {
				return p.ContainerPort
			}
		}
	}
	return 0
}

// sharded: there is one projector for each partition, each shard has its own
// Secrets, and the query service knows the number of shards.
func (c cluster) sharded(t *testing.T, folder string) {
	t.Helper()
	n := shards[folder]
	if n == 1 {
		return
	}
	count := strconv.Itoa(n)
	var partitions, secrets []string
	for _, w := range c.workloads {
		if w.role() == "query" || w.role() == "ingest" { // these use all shards
			continue
		}
		secrets = append(secrets, w.pod.Volumes[0].Secret.SecretName)
		config := c.configs[w.pod.Containers[0].EnvFrom[0].ConfigMapRef.Name].Data
		switch w.role() {
		case "projector":
			partitions = append(partitions, config["PREISMON_PARTITION"])
			fallthrough
		case "audit":
			if config["PREISMON_PARTITIONS"] != count || !strings.HasSuffix(w.name, "-"+config["PREISMON_PARTITION"]) {
				t.Errorf("%s: %s: %v", folder, w.name, config)
			}
		case "migrate":
			if config["PREISMON_CLICKHOUSE_CLUSTER"] == "" {
				t.Errorf("%s: %s makes no tables that read all shards", folder, w.name)
			}
		}
	}
	var want []string
	for i := range n {
		want = append(want, strconv.Itoa(i))
	}
	slices.Sort(partitions)
	slices.Sort(secrets)
	if !slices.Equal(partitions, want) || len(slices.Compact(secrets)) != 2*n {
		t.Errorf("%s: partitions %v, secrets %v", folder, partitions, secrets)
	}
	equals.Is(t, count, c.configs["preismon-query"].Data["PREISMON_SHARDS"], "%s: the query service reads shards", folder)
}

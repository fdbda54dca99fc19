package kubernetes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// kinds lists all permitted kinds, with the type of the API that each must fit.
var kinds = map[string]func() any{
	"v1 Namespace":                            func() any { return &core.Namespace{} },
	"v1 ServiceAccount":                       func() any { return &core.ServiceAccount{} },
	"v1 ConfigMap":                            func() any { return &core.ConfigMap{} },
	"v1 Service":                              func() any { return &core.Service{} },
	"apps/v1 Deployment":                      func() any { return &apps.Deployment{} },
	"batch/v1 CronJob":                        func() any { return &batch.CronJob{} },
	"batch/v1 Job":                            func() any { return &batch.Job{} },
	"policy/v1 PodDisruptionBudget":           func() any { return &policy.PodDisruptionBudget{} },
	"autoscaling/v2 HorizontalPodAutoscaler":  func() any { return &autoscaling.HorizontalPodAutoscaler{} },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return &networking.NetworkPolicy{} },
	"networking.k8s.io/v1 Ingress":            func() any { return &networking.Ingress{} },
	"v1 PersistentVolumeClaim":                func() any { return &core.PersistentVolumeClaim{} },
	"monitoring.coreos.com/v1 PodMonitor":     func() any { return &podMonitor{} },
	"monitoring.coreos.com/v1 PrometheusRule": func() any { return &prometheusRule{} },
}

// podMonitor is the part of the Prometheus operator's type that we use.
type podMonitor struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		Selector            meta.LabelSelector `json:"selector"`
		PodMetricsEndpoints []struct {
			Port        string `json:"port"`
			Path        string `json:"path"`
			Interval    string `json:"interval"`
			Relabelings []struct {
				SourceLabels []string `json:"sourceLabels"`
				TargetLabel  string   `json:"targetLabel"`
			} `json:"relabelings"`
		} `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

// prometheusRule is the part of the Prometheus operator's type that we use.
type prometheusRule struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		Groups []ruleGroup `json:"groups"`
	} `json:"spec"`
}

// ruleGroup is a group of rules as both Prometheus and the operator read it.
type ruleGroup struct {
	Name  string `json:"name"`
	Rules []struct {
		Alert       string            `json:"alert"`
		Expr        string            `json:"expr"`
		For         string            `json:"for,omitempty"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"rules"`
}

// render builds a folder as `kubectl apply -k` does, and decodes every object
// into its type. A field that the type lacks, or that is given twice, is an
// error.
func render(folder string) ([]any, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	var all []any
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		o, err := decode(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.CurId(), err)
		}
		all = append(all, o)
	}
	return all, nil
}

func decode(text []byte) (any, error) {
	var t meta.TypeMeta
	if err := yaml.Unmarshal(text, &t); err != nil {
		return nil, err
	}
	empty, ok := kinds[t.APIVersion+" "+t.Kind]
	if !ok {
		return nil, fmt.Errorf("%s %s is no kind that is used here", t.APIVersion, t.Kind)
	}
	o := empty()
	if err := yaml.UnmarshalStrict(text, o); err != nil {
		return nil, err
	}
	// A value of the wrong form can vanish silently in a type that accepts
	// anything, such as an empty quantity: nothing may be lost on the way.
	back, err := yaml.Marshal(o)
	if err != nil {
		return nil, err
	}
	var was, is any
	if err := yaml.Unmarshal(text, &was); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(back, &is); err != nil {
		return nil, err
	}
	return o, missing("", was, is)
}

// missing returns an error that names what is missing from a decoded object.
func missing(path string, was, is any) error {
	switch w := was.(type) {
	case map[string]any:
		i, ok := is.(map[string]any)
		for key, value := range w {
			if !ok || i[key] == nil && value != nil {
				return fmt.Errorf("%s.%s is lost in the type of the API", path, key)
			}
			if err := missing(path+"."+key, value, i[key]); err != nil {
				return err
			}
		}
	case []any:
		i, ok := is.([]any)
		if !ok || len(i) != len(w) {
			return fmt.Errorf("%s has other entries in the type of the API", path)
		}
		for n := range w {
			if err := missing(fmt.Sprintf("%s[%d]", path, n), w[n], i[n]); err != nil {
				return err
			}
		}
	default:
		if fmt.Sprint(was) != fmt.Sprint(is) {
			return fmt.Errorf("%s is %v in the type of the API, not %v", path, is, was)
		}
	}
	return nil
}

// TestStrict: a mistake of every kind is found.
func TestStrict(t *testing.T) {
	for name, c := range map[string]struct{ from, to, says string }{
		"none":         {"replicas: 2", "replicas: 2", ""},
		"misspelt":     {"replicas: 2", "replica: 2", `unknown field "replica"`},
		"wrong type":   {"replicas: 2", "replicas: two", "cannot unmarshal"},
		"twice":        {"replicas: 2", "replicas: 2\n  replicas: 2", "already set"},
		"old version":  {"apps/v1", "apps/v1beta1", "no kind that is used"},
		"a bad amount": {"cpu: 250m", "cpu: 250 m", "quantities must match"},
		"wrong place":  {"    spec:\n      containers:", "    containers:", "unknown field"},
	} {
		text := `apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
        - name: c
          resources: {requests: {cpu: 250m}}
`
		if c.to == "    containers:" {
			text = strings.Replace(text, "    spec:\n      containers:\n        - name: c\n          resources: {requests: {cpu: 250m}}\n", "    containers: []\n", 1)
		} else {
			text = strings.Replace(text, c.from, c.to, 1)
		}
		_, err := decode([]byte(text))
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// TestNoRegistry: images are named without a registry host, so that an overlay
// decides where they come from.
func TestNoRegistry(t *testing.T) {
	for _, folder := range folders {
		for _, w := range rendered(t, folder).workloads {
			for _, c := range slices.Concat(w.pod.InitContainers, w.pod.Containers) {
				if name, tag, _ := strings.Cut(c.Image, ":"); strings.Contains(name, ".") || tag == "" || tag == "latest" {
					t.Errorf("%s: %s: image %q", folder, w.name, c.Image)
				}
			}
		}
	}
}

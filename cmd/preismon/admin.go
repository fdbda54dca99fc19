package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// admin is the operators' surface: liveness, readiness, metrics and profiles. It
// has no notion of users and belongs on a loopback or private address.
type admin struct {
	registry *prometheus.Registry

	mu     sync.Mutex
	checks []check // all must hold, except the optional ones
	abouts map[string]func() any
}

// check is one condition of readiness, or, if it is optional, a dependency that
// /readyz only reports.
type check struct {
	name     string
	ok       func(ctx context.Context) error
	optional bool
}

// readyTimeout bounds one check of all conditions.
const readyTimeout = 3 * time.Second

func newAdmin() *admin {
	a := &admin{registry: prometheus.NewRegistry(), abouts: map[string]func() any{}}
	a.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "preismon_build_info", Help: "Always 1; the build is in the label.", ConstLabels: prometheus.Labels{"build": build()}})
	info.Set(1)
	a.registry.MustRegister(info)
	return a
}

// ready adds a condition of readiness.
func (a *admin) ready(name string, ok func(ctx context.Context) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checks = append(a.checks, check{name: name, ok: ok})
}

// optional adds a dependency whose state /readyz reports; the role is ready
// without it too.
func (a *admin) optional(name string, ok func(ctx context.Context) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checks = append(a.checks, check{name: name, ok: ok, optional: true})
}

// about adds what /readyz reports about a part, ready or not.
func (a *admin) about(name string, report func() any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.abouts[name] = report
}

// gauge publishes a value that is read when it is scraped. labels are names and
// values in turn.
func (a *admin) gauge(name, help string, value func() float64, labels ...string) {
	a.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labelsOf(labels)}, value))
}

// sometimes publishes a value while it is known; otherwise the metric is absent.
func (a *admin) sometimes(name, help string, value func() (v float64, known bool)) {
	desc := prometheus.NewDesc(name, help, nil, nil)
	a.registry.MustRegister(prometheus.CollectorFunc(func(to chan<- prometheus.Metric) {
		if v, known := value(); known {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v)
		}
	}))
}

// counter publishes a count that is read when it is scraped.
func (a *admin) counter(name, help string, value func() uint64, labels ...string) {
	a.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labelsOf(labels)},
		func() float64 { return float64(value()) }))
}

func counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogramVec(name, help string, buckets []float64, label string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{label})
}

func labelsOf(pairs []string) prometheus.Labels {
	labels := prometheus.Labels{}
	for i := 0; i < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	return labels
}

// status checks all conditions concurrently; each has its error, or "ok". about
// are the reports of all parts.
func (a *admin) status(ctx context.Context) (ready bool, byName map[string]string, about map[string]any) {
	a.mu.Lock()
	checks, abouts := a.checks, maps.Clone(a.abouts)
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	errs := make([]error, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() { errs[i] = c.ok(ctx) })
	}
	wg.Wait()
	ready, byName, about = true, map[string]string{}, map[string]any{}
	for i, c := range checks {
		byName[c.name] = "ok"
		if errs[i] != nil {
			ready, byName[c.name] = ready && c.optional, errs[i].Error()
		}
	}
	for name, report := range abouts {
		about[name] = report()
	}
	return ready, byName, about
}

func (a *admin) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ready, checks, about := a.status(r.Context())
		w.Header().Set("Content-Type", "application/json")
		if !ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"ready": ready, "checks": checks, "about": about})
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// serve runs the surface as a part of the lifecycle.
func (a *admin) serve(l *lifecycle, listener net.Listener) {
	srv := &http.Server{Handler: a.handler(), ReadHeaderTimeout: 5 * time.Second}
	serveHTTP(l, "admin", srv, listener, func(context.Context) error { return nil })
}

// serveHTTP runs a server on a listener until it is stopped: drain runs before
// the listener closes, and requests in flight may finish within the grace time.
func serveHTTP(l *lifecycle, name string, srv *http.Server, listener net.Listener, drain func(ctx context.Context) error) {
	served := make(chan error, 1)
	go func() {
		if err := srv.Serve(listener); err != http.ErrServerClosed {
			l.fails(name, err)
		}
		served <- nil
	}()
	l.defers(name, func(ctx context.Context) error {
		_ = drain(ctx) // what does not end in time is cut by Shutdown below
		if err := srv.Shutdown(ctx); err != nil {
			return srv.Close() // a stream that does not end is cut, and its client notices
		}
		return <-served
	})
}

// listen opens an address, with an error that suggests what to do if it cannot.
func listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with --%s", address, err, flag)
	}
	return l, nil
}

// reachable returns an address that a client on this machine can use for a
// listener on all addresses.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

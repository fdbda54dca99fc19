package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"time"
)

// measureMemory streams many rows in each form, and watches the resident memory
// of the query service.
func (r *run) measureMemory(ctx context.Context) error {
	used := r.world.nodes[r.world.database]
	if _, peak, err := resident(used.cmd.Process.Pid); err == nil {
		r.result.put("query_peak_rss_mib", "query process, greatest resident memory during all reads so far", "MiB", exactly(peak), 0, true, "")
	}
	from, err := r.windowOf(ctx, r.size.memoryRows)
	if err != nil {
		return err
	}
	most := map[string]float64{}
	var note string
	for _, f := range append([]tableForm{{name: "NDJSON"}}, tableForms...) {
		peak, streamed, err := r.memoryOf(ctx, from, f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		most[f.key], note = max(most[f.key], peak), streamed
	}
	r.result.put("stream_peak_rss_mib", "query process, greatest resident memory while streaming "+note, "MiB", exactly(most[""]), 200, true, "")
	for _, key := range tableKeys {
		r.result.put("stream_"+key+"_peak_rss_mib", "the same as "+key+", the larger where there are several", "MiB", exactly(most[key]), 200, true, "")
	}
	return nil
}

// memoryOf streams from a fresh query service in one form, and returns its
// greatest resident memory in MiB, and how many rows it streamed.
func (r *run) memoryOf(ctx context.Context, from time.Time, f tableForm) (peak float64, note string, err error) {
	r.world.nodes[r.world.database].stop()
	delete(r.world.nodes, r.world.database)
	if err := r.world.serve(ctx, r.world.database); err != nil {
		return 0, "", err
	}
	pid := r.world.nodes[r.world.database].cmd.Process.Pid
	watched := watchResident(ctx, pid)
	d, err := r.stream(ctx, r.world.database, 1, r.exported(from), as(f.accept))
	samples := watched()
	if err != nil {
		return 0, "", err
	}
	if _, peak, err = resident(pid); err != nil {
		return 0, "", err
	}
	note = grouped(d.rows) + " rows"
	if d.rows < 9_000_000 {
		note += ", all that the largest mandate has in 168 h here"
	}
	r.result.Growth = append(r.result.Growth, Curve{Title: "Memory of the query process while it streams " + note + " as " + f.name, X: "s", Y: "MiB", Lines: []Line{samples}})
	return peak, note, nil
}

// watchResident samples the resident memory of a process until stop is called,
// which returns it.
func watchResident(ctx context.Context, pid int) (stop func() Line) {
	samples := Line{Name: "resident, MiB"}
	began := time.Now()
	watching, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		for pause(watching, 100*time.Millisecond) == nil {
			if now, _, err := resident(pid); err == nil {
				samples.Points = append(samples.Points, Point{X: time.Since(began).Seconds(), Y: now, Low: now, High: now})
			}
		}
	})
	return func() Line {
		cancel()
		group.Wait()
		return samples
	}
}

// resident returns the resident memory of a process in MiB, now and at its peak.
func resident(pid int) (now, peak float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			now = kib / 1024
		} else if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			peak = kib / 1024
		}
	}
	if peak == 0 {
		return 0, 0, errors.New("this system does not tell")
	}
	return now, peak, nil
}

// measureReady starts `preismon up` on the filled folder several times.
func (r *run) measureReady(ctx context.Context) error {
	if r.ClickHouse != "" {
		r.result.Missing = append(r.result.Missing, "time to ready: the servers were given")
		return nil
	}
	w := r.world
	for _, n := range w.nodes {
		n.stop()
	}
	w.nodes = map[string]*node{}
	folder := w.dir.Path
	if err := w.stopServers(); err != nil {
		return err
	}
	s := Series{Name: "preismon up on the filled folder"}
	for range 4 {
		began := time.Now()
		u, err := r.startUp(ctx, folder)
		if err != nil {
			return err
		}
		s.Seconds = append(s.Seconds, time.Since(began).Seconds())
		if err := u.end(nil); err != nil {
			return err
		}
	}
	s.Seconds = s.Seconds[1:] // the first fills the cache
	r.result.Tables = append(r.result.Tables, Table{Title: "Time to ready", Series: []Series{s}})
	r.result.put("ready_seconds_warm", "`preismon up` on the filled folder until everything can be queried", "s", spread{s.Median(), s.Least(), s.Greatest()}, 3, true, "")
	return nil
}

// upChild is a `preismon up` that is ready.
type upChild struct {
	cmd     *exec.Cmd
	out     io.Reader
	release func()
}

// startUp starts `preismon up` on a folder, and waits until it is ready.
func (r *run) startUp(ctx context.Context, folder string, flags ...string) (*upChild, error) {
	cmd := exec.CommandContext(ctx, r.Program, append([]string{"up", "--data-dir", folder, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, flags...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var last lastLine
	cmd.Stderr = &last
	release, err := startTied(cmd, syscall.SIGTERM)
	if err != nil {
		return nil, err
	}
	u := &upChild{cmd, out, release}
	giveUp := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer giveUp.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "ready after") {
			return u, nil
		}
	}
	err = u.end(nil)
	return nil, fmt.Errorf("`preismon up` did not become ready: %w", errors.Join(err, errors.New(last.text)))
}

// end stops it, and returns the error of what it was for, or its own.
func (u *upChild) end(err error) error {
	defer u.release()
	_ = u.cmd.Process.Signal(syscall.SIGTERM)
	_, _ = io.Copy(io.Discard, u.out)
	return errors.Join(err, u.cmd.Wait())
}

// lastLine keeps the last piece that was written.
type lastLine struct{ text string }

func (l *lastLine) Write(p []byte) (int, error) {
	l.text = strings.TrimSpace(string(p))
	return len(p), nil
}

// profileNode records 20 s of CPU profile of the query service; stop waits for
// its end.
func (r *run) profileNode(ctx context.Context, name string) (stop func()) {
	if r.Profiles == "" {
		return func() {}
	}
	// The admin surface profiles for a fixed time, given in the request.
	resp := make(chan error, 1)
	go func() {
		resp <- func() error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.world.nodes[r.world.database].admin+"/debug/pprof/profile?seconds=20", nil)
			if err != nil {
				return err
			}
			answer, err := http.DefaultClient.Do(req)
			if err != nil {
				return err
			}
			defer answer.Body.Close() //nolint:errcheck // read to its end
			f, err := os.Create(filepath.Join(r.Profiles, name+".pprof"))
			if err != nil {
				return err
			}
			_, err = io.Copy(f, answer.Body)
			return errors.Join(err, f.Close())
		}()
	}()
	return func() { <-resp }
}

// profileSelf records a CPU profile of this process until it is stopped.
func (r *run) profileSelf(name string) (stop func(), err error) {
	if r.Profiles == "" {
		return func() {}, nil
	}
	f, err := os.Create(filepath.Join(r.Profiles, name+".pprof"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}

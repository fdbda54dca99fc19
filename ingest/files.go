package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// FilesRequest describes one run of `preismon ingest`.
type FilesRequest struct {
	Publisher *Publisher
	Files     []string  // names; "-", or no file at all: Stdin
	Stdin     io.Reader // needed for "-" only

	// Rejects receives each rejected line as one line of JSON, see Reject; nil:
	// they are only counted.
	Rejects io.Writer
	// Progress is called with the lines read so far, over all files, about every
	// ProgressEvery (1 s) and once more at the end; nil: not called.
	Progress      func(lines uint64)
	ProgressEvery time.Duration
}

// Reject is one rejected line: where it was, why it is not an event, and the
// line itself, so that it can be corrected and published.
type Reject struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// FilesResult counts the outcomes of the lines.
type FilesResult struct {
	Accepted   uint64 // acknowledged as new
	Duplicates uint64 // acknowledged, but the stream had the id already
	Rejected   uint64 // not valid events, or permanently refused by the server
}

// PublishFiles publishes the events of NDJSON files and waits for every
// acknowledgement. Lines are sent unchanged after they have been validated. A
// rejected line does not end the run; a file that cannot be read does, and so
// does a stream that stays unreachable. The result counts what was acknowledged
// in any case. Running it again after an interruption duplicates nothing,
// because the events carry their ids.
func PublishFiles(ctx context.Context, req FilesRequest) (FilesResult, error) {
	files := req.Files
	if len(files) == 0 {
		files = []string{"-"}
	}
	j := &filesJob{req: req}
	stop := j.report(ctx)
	var err error
	for _, name := range files {
		if err = j.file(ctx, name); err != nil {
			break
		}
	}
	// Events in flight are waited for even after a file that could not be read;
	// a refused event is already counted and among the rejects.
	if _, ferr := req.Publisher.Flush(ctx); ferr != nil && err == nil && (ctx.Err() != nil || req.Publisher.broken() != nil) {
		err = ferr
	}
	stop()
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.result, errors.Join(err, j.writeErr)
}

type filesJob struct {
	req   FilesRequest
	lines atomic.Uint64

	mu       sync.Mutex
	result   FilesResult
	writeErr error
}

func (j *filesJob) file(ctx context.Context, name string) error {
	in := j.req.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	} else if in == nil {
		return errors.New("no standard input to read")
	}
	for l, err := range Lines(in) {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if ctx.Err() != nil { // lines that are rejected wait for nothing
			return context.Cause(ctx)
		}
		j.lines.Add(1)
		if l.Err != nil {
			j.reject(name, l.Number, l.Err, l.Text)
			continue
		}
		text := append([]byte(nil), l.Text...)
		number := l.Number
		f := newPublication(l.Event, text)
		f.done = func(duplicate bool, err error) {
			switch {
			case err != nil && j.req.Publisher.broken() != nil:
				// Not the line's fault: neither accepted nor rejected.
			case err != nil:
				j.reject(name, number, err, text)
			default:
				j.accept(duplicate)
			}
		}
		err := j.req.Publisher.publish(ctx, l.Event, f)
		if taken := (*LoginTakenError)(nil); errors.As(err, &taken) {
			j.reject(name, number, err, text)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", name, l.Number, err)
		}
	}
	return nil
}

func (j *filesJob) accept(duplicate bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if duplicate {
		j.result.Duplicates++
	} else {
		j.result.Accepted++
	}
}

func (j *filesJob) reject(name string, line int, why error, text []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.result.Rejected++
	if j.req.Rejects == nil || j.writeErr != nil {
		return
	}
	b, err := json.Marshal(Reject{File: name, Line: line, Reason: strings.ReplaceAll(why.Error(), "\n", "; "), Text: string(text)})
	if err == nil {
		_, err = j.req.Rejects.Write(append(b, '\n'))
	}
	if err != nil {
		j.writeErr = fmt.Errorf("writing the rejects: %w", err)
	}
}

// report calls the progress callback from time to time until stop is called,
// which calls it one last time.
func (j *filesJob) report(ctx context.Context) (stop func()) {
	if j.req.Progress == nil {
		return func() {}
	}
	every := cmp.Or(max(j.req.ProgressEvery, 0), time.Second)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		for sleep(ctx, every) {
			j.req.Progress(j.lines.Load())
		}
	})
	return func() {
		cancel()
		wg.Wait()
		j.req.Progress(j.lines.Load())
	}
}

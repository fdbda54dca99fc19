package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// ErrNotRunning is wrapped by the error of ReadRuntime for a folder that no
// `preismon up` uses.
var ErrNotRunning = errors.New("no preismon runs on this folder")

const (
	lockFile    = "lock"
	holderFile  = "holder.json" // not the lock itself: on Windows nothing can read or write a locked file
	runtimeFile = "runtime.json"
)

// holder is the process that holds the lock, for the message to a second one.
type holder struct {
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"`
}

// Runtime is what client commands need to know about a running `preismon up`. It
// holds credentials: only its owner can read the file.
type Runtime struct {
	PID          int       `json:"pid"`
	StartedAt    time.Time `json:"started_at"`
	NATSURL      string    `json:"nats_url"`       // with credentials
	AdminDSN     string    `json:"admin_dsn"`      // ClickHouse, native, with credentials
	ProjectorDSN string    `json:"projector_dsn"`  //
	QueryDSN     string    `json:"query_dsn"`      //
	HTTPURL      string    `json:"clickhouse_url"` // ClickHouse's HTTP interface
	ClickHouse   int       `json:"clickhouse_pid"` //
	APIURL       string    `json:"api_url"`        // the query service
	AdminURL     string    `json:"admin_url"`      // live, ready, metrics
}

// DataDir is a data folder that this process holds exclusively.
type DataDir struct {
	Path      string
	StartedAt time.Time
	lock      *flock.Flock
}

// OpenDataDir opens a data folder, creates it if missing, and locks it against a
// second start. A folder that is neither empty nor ours is refused.
func OpenDataDir(path string) (*DataDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the data folder %s; choose another one: %w", path, err)
	}
	if _, err := os.Stat(filepath.Join(path, lockFile)); errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read the data folder %s; choose another one: %w", path, err)
		}
		for _, e := range entries {
			if e.Name() != "lost+found" { // of a volume's file system
				return nil, fmt.Errorf("%s is not a data folder of preismon and not empty; choose another one", path)
			}
		}
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return nil, fmt.Errorf("cannot close the data folder %s to others; choose another one: %w", path, err)
	}
	d := &DataDir{Path: path, StartedAt: time.Now().UTC(), lock: flock.New(filepath.Join(path, lockFile), flock.SetPermissions(0o600))}
	// A client that checks whether the folder is in use holds the lock for an instant.
	for range 20 {
		var locked bool
		if locked, err = d.lock.TryLock(); err != nil {
			return nil, fmt.Errorf("cannot lock the data folder %s; choose one on a local disk: %w", path, err)
		}
		if locked {
			me, _ := json.Marshal(holder{PID: os.Getpid(), StartedAt: d.StartedAt})
			if err := os.WriteFile(filepath.Join(path, holderFile), append(me, '\n'), 0o600); err != nil {
				_ = d.lock.Close()
				return nil, fmt.Errorf("cannot write to the data folder %s: %w", path, err)
			}
			_ = os.Remove(filepath.Join(path, runtimeFile)) // left by a process that was killed
			return d, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	var other holder
	if data, err := os.ReadFile(filepath.Join(path, holderFile)); err == nil && json.Unmarshal(data, &other) == nil {
		return nil, fmt.Errorf("the data folder %s is in use by process %d, started at %s; stop it, or choose another folder",
			path, other.PID, other.StartedAt.Format(time.RFC3339))
	}
	return nil, fmt.Errorf("the data folder %s is in use by another process; stop it, or choose another folder", path)
}

// Join returns the path of something in the folder.
func (d *DataDir) Join(name ...string) string {
	return filepath.Join(append([]string{d.Path}, name...)...)
}

// WriteRuntime records for client commands where everything is. It fills in the
// process id and the start time.
func (d *DataDir) WriteRuntime(r Runtime) error {
	r.PID, r.StartedAt = os.Getpid(), d.StartedAt
	if err := writeJSON(d.Join(runtimeFile), r); err != nil {
		return fmt.Errorf("write %s: %w", d.Join(runtimeFile), err)
	}
	return nil
}

// Close removes the runtime file and unlocks the folder.
func (d *DataDir) Close() error {
	err := os.Remove(d.Join(runtimeFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if cerr := d.lock.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("close the data folder %s: %w", d.Path, err)
	}
	return nil
}

// ReadRuntime returns where the `preismon up` on a folder is. For a folder
// without one, or with one that was killed, the error is ErrNotRunning.
func ReadRuntime(path string) (Runtime, error) {
	var r Runtime
	lock := filepath.Join(path, lockFile)
	if _, err := os.Stat(lock); err != nil {
		return r, fmt.Errorf("%s: %w; start it with `preismon up --data-dir %s`", path, ErrNotRunning, path)
	}
	f := flock.New(lock, flock.SetFlag(os.O_RDONLY))
	defer f.Close()
	free, err := f.TryRLock()
	if err != nil {
		return r, fmt.Errorf("see whether a preismon runs on %s: %w", path, err)
	}
	if free {
		return r, fmt.Errorf("%s: %w; start it with `preismon up --data-dir %s`", path, ErrNotRunning, path)
	}
	data, err := os.ReadFile(filepath.Join(path, runtimeFile))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	// A process that takes the lock removes the file of one that was killed; it
	// may have just begun to.
	if errors.Is(err, fs.ErrNotExist) || err == nil && !runs(r.PID) {
		return Runtime{}, fmt.Errorf("the preismon on %s is still starting; try again when it is ready: %w", path, ErrNotRunning)
	}
	if err != nil {
		return r, fmt.Errorf("read the runtime file of %s: %w", path, err)
	}
	return r, nil
}

// runs reports whether a process exists.
func runs(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil { // on Windows
		return false
	}
	defer func() { _ = p.Release() }()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

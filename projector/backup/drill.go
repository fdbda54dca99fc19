package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"
)

// Drill is a test restore of a backup, and what an audit of the restored tables
// found.
type Drill struct {
	Place    string    `json:"place"` // a folder, or a bucket with a prefix
	At       time.Time `json:"at"`    // when it began
	Events   uint64    `json:"events"`
	Rows     uint64    `json:"rows"`
	Findings int       `json:"findings"`
	Fault    string    `json:"fault,omitempty"` // why it could not be restored or audited
}

// Proven reports whether the tables were restored, and nothing was wrong with
// them.
func (d Drill) Proven() bool { return d.Fault == "" && d.Findings == 0 }

// Remember appends the drill to a file, which is created if necessary, as a line
// of its own even after one that was cut.
func (d Drill) Remember(file string) error {
	line, err := json.Marshal(d)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	cut, err := endsCut(f)
	if err == nil {
		if cut {
			line = append([]byte{'\n'}, line...)
		}
		_, err = f.Write(append(line, '\n'))
	}
	return errors.Join(err, f.Close())
}

// endsCut reports whether the last line of the file has no end.
func endsCut(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return last[0] != '\n', err
}

// Drills reads the drills in a file, the oldest first. No file: there were
// none. A line that a full disk or a power cut left incomplete is passed over.
func Drills(file string) (all []Drill, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var d Drill
		if json.Unmarshal(line, &d) == nil {
			all = append(all, d)
		}
	}
	return all, nil
}

// LastOf returns the newest drill of the backup at a place since it was taken.
func LastOf(drills []Drill, place string, taken time.Time) (last Drill, ok bool) {
	for _, d := range drills {
		if d.Place == place && d.At.After(taken) {
			last, ok = d, true
		}
	}
	return last, ok
}

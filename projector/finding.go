package projector

import (
	"fmt"
	"strconv"
	"time"
)

// Audit is the result of an Auditor.
type Audit struct {
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds"`
	Epoch   uint32    `json:"epoch"`   // of OBSERVATIONS, as applied
	Applied uint64    `json:"applied"` // sequence up to which everything was compared
	Waiting uint64    `json:"waiting"` // messages of OBSERVATIONS that are not applied yet
	// Floor is the capture time from which rows are kept; older ones are not
	// due. Zero: all are kept.
	Floor time.Time `json:"floor,omitzero"`

	Proven      bool   `json:"proven"`       // compared with the proof of the checkpoint; false: there is none yet
	Events      uint64 `json:"events"`       // ingested
	Rows        uint64 `json:"rows"`         // of observations
	MandateRows uint64 `json:"mandate_rows"` // of observations_by_mandate
	Pairs       uint64 `json:"pairs"`        // of latest_observations
	Records     uint64 `json:"records"`      // of the stream CATALOG

	// Sequences of OBSERVATIONS without an event, and why.
	DeadLetters uint64 `json:"dead_letters"`
	Copies      uint64 `json:"copies"` // of events ingested from another place
	Gone        uint64 `json:"gone"`   // the stream no longer has a message there
	Others      uint64 `json:"others"` // of other partitions

	Compared     uint64   `json:"compared"`      // events whose content was compared
	NotCompared  uint64   `json:"not_compared"`  // events that the stream no longer has
	SkippedScope []string `json:"skipped_scope"` // mandates whose scope was changing: their rows were not compared

	// Findings are what is wrong; empty: nothing is.
	Findings []Finding `json:"findings"`
}

// What a finding means for the rows or messages that it counts.
const (
	Missing = "missing" // should be there and are not
	Doubled = "doubled" // are there more than once
	Foreign = "foreign" // should not be there
	Differs = "differs" // have other content than they should
	Lost    = "lost"    // a message is in no table and in no dead letter
)

// Finding is one thing that is wrong.
type Finding struct {
	What    string `json:"what"`
	Where   string `json:"where"`             // a table, or a stream
	Mandate string `json:"mandate,omitempty"` // whose rows
	Epoch   uint32 `json:"epoch,omitempty"`
	First   uint64 `json:"first,omitempty"` // sequences, both included
	Last    uint64 `json:"last,omitempty"`
	Count   uint64 `json:"count"`
	Text    string `json:"text"` // the same in words
}

// maxFindings is how many findings of one kind are listed one by one.
const maxFindings = 50

// find records something about one sequence; adjacent sequences become one
// finding.
func (a *Audit) find(f Finding, detail string) {
	if n := len(a.Findings); n > 0 {
		l := &a.Findings[n-1]
		if l.What == f.What && l.Where == f.Where && l.Mandate == f.Mandate && l.Epoch == f.Epoch && f.First != 0 &&
			(f.First == l.Last+1 || f.First == l.Last) && l.Text == "" && detail == "" {
			l.Last, l.Count = f.Last, l.Count+f.Count
			return
		}
	}
	f.Text = detail
	a.Findings = append(a.Findings, f)
}

// close puts the findings into words, and sums up those of one kind beyond
// maxFindings.
func (a *Audit) close() {
	type kind struct{ what, where string }
	seen := map[kind]int{}
	kept := []Finding{}
	rest := map[kind]int{} // place in kept
	for _, f := range a.Findings {
		k := kind{f.What, f.Where}
		switch seen[k]++; {
		case seen[k] <= maxFindings:
			f.Text = f.words()
			kept = append(kept, f)
		case seen[k] == maxFindings+1:
			rest[k] = len(kept)
			kept = append(kept, Finding{What: f.What, Where: f.Where, Count: f.Count})
		default:
			kept[rest[k]].Count += f.Count
		}
	}
	for k, at := range rest {
		kept[at].Text = fmt.Sprintf("and %d more places like that in %s, with %d in all", seen[k]-maxFindings, k.where, kept[at].Count)
	}
	a.Findings = kept
	if a.SkippedScope == nil {
		a.SkippedScope = []string{}
	}
}

// words describes the finding as an operator would.
func (f Finding) words() string {
	of, at := "", ""
	if f.Mandate != "" {
		of = " of mandate " + f.Mandate
	}
	if f.First != 0 {
		at = ", sequence " + strconv.FormatUint(f.First, 10)
		if f.Last > f.First {
			at = fmt.Sprintf(", sequences %d to %d", f.First, f.Last)
		}
		if f.Epoch != 0 {
			at += fmt.Sprintf(" of epoch %d", f.Epoch)
		}
	}
	rows, text := counted(f.Count, "row"), ""
	switch f.What {
	case Missing:
		text = fmt.Sprintf("%s lacks %s%s%s", f.Where, rows, of, at)
	case Doubled:
		text = fmt.Sprintf("%s holds %s%s more than once%s", f.Where, rows, of, at)
	case Foreign:
		text = fmt.Sprintf("%s holds %s%s too many%s", f.Where, rows, of, at)
	case Differs:
		text = fmt.Sprintf("%s holds %s%s with other content than they should have%s", f.Where, rows, of, at)
	case Lost:
		text = fmt.Sprintf("%s of %s, in no table and in no dead letter%s", counted(f.Count, "message"), f.Where, at)
	}
	if f.Text != "" {
		text += ": " + f.Text
	}
	return text
}

// counted returns a number with its noun, in the plural if needed.
func counted(n uint64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

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

// findings collects what is wrong. However much that is, it keeps no more than
// maxFindings of a kind, and counts the others.
type findings struct {
	list  []Finding
	kinds map[kind]*ofKind
}

type kind struct{ what, where string }

// ofKind is what findings knows of one kind.
type ofKind struct {
	listed  int
	rest    int     // the place in list of the sum of the others; 0: there are none
	omitted int     // that are summed up there
	last    Finding // the last of them
}

// follows reports whether a finding goes on where the one before it ends.
func (f Finding) follows(l Finding) bool {
	return l.What == f.What && l.Where == f.Where && l.Mandate == f.Mandate && l.Epoch == f.Epoch && f.First != 0 &&
		(f.First == l.Last+1 || f.First == l.Last) && l.Text == "" && f.Text == ""
}

// find records something about one sequence; adjacent sequences become one
// finding.
func (a *findings) find(f Finding, detail string) {
	f.Text = detail
	k := a.of(f)
	if n := len(a.list); k.rest == 0 && n > 0 && f.follows(a.list[n-1]) {
		l := &a.list[n-1]
		l.Last, l.Count = f.Last, l.Count+f.Count
		return
	}
	if k.listed < maxFindings {
		k.listed++
		a.list = append(a.list, f)
		return
	}
	omitted := 1
	if k.rest > 0 && f.follows(k.last) {
		omitted = 0
	}
	k.last = f
	a.more(f, omitted)
}

// more adds to the sum of those beyond maxFindings.
func (a *findings) more(f Finding, omitted int) {
	k := a.of(f)
	if k.rest == 0 {
		k.rest = len(a.list)
		a.list = append(a.list, Finding{What: f.What, Where: f.Where})
	}
	k.omitted += omitted
	a.list[k.rest].Count += f.Count
}

func (a *findings) of(f Finding) *ofKind {
	if a.kinds == nil {
		a.kinds = map[kind]*ofKind{}
	}
	k := kind{f.What, f.Where}
	if a.kinds[k] == nil {
		a.kinds[k] = &ofKind{}
	}
	return a.kinds[k]
}

// add takes over what others collected.
func (a *findings) add(others *findings) {
	for i, f := range others.list {
		if k := others.of(f); k.rest > 0 && k.rest == i {
			a.more(f, k.omitted)
		} else {
			a.find(f, f.Text)
		}
	}
}

// close returns the findings in words.
func (a *findings) close() []Finding {
	kept := make([]Finding, len(a.list))
	for i, f := range a.list {
		if k := a.of(f); k.rest > 0 && k.rest == i {
			f.Text = fmt.Sprintf("and %d more places like that in %s, with %d in all", k.omitted, f.Where, f.Count)
		} else {
			f.Text = f.words()
		}
		kept[i] = f
	}
	return kept
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

package mcp

import (
	"encoding/json"

	"preismon/query"
	"preismon/query/wire"
)

// answerBytes bounds an answer to a call that gives no limit: about 5,500
// tokens, so that one call does not flood the context of an agent. A call with
// a limit of its own gets what it asks for.
const answerBytes = 14 << 10

// headBytes is what comes on top of that, besides the records: a summary and an
// echo that are larger leave less room for them.
const headBytes = 2 << 10

// listBytes bounds the sites that a summary lists, and those whose changes are
// counted, in an answer to such a call.
const listBytes = 5 << 10

// listRoom is that room in the answer to a call, which may ask for a few records
// to have counts of all.
func listRoom(limited bool) int {
	if limited {
		return answerBytes
	}
	return listBytes
}

// head is what every answer begins with, so that it is read first.
type head struct {
	Summary      any          `json:"summary"`
	Completeness completeness `json:"completeness"`
	Note         string       `json:"note,omitempty"` // of selectors that name nothing
}

// counted is the summary of an answer that has no other.
type counted struct {
	Returned int `json:"returned"`
}

// completeness tells whether something of what was asked for is still to be
// read, why, and with which cursor (RES-12).
type completeness struct {
	Complete   bool    `json:"complete"`
	Reason     *reason `json:"reason"`
	NextCursor *string `json:"nextCursor"`
}

// reason is why an answer is not complete.
type reason string

// The reasons.
const (
	moreRows     reason = "MORE_ROWS"     // the limit was reached
	answerBudget reason = "ANSWER_BUDGET" // the answer was large enough
	softDeadline reason = "SOFT_DEADLINE" // time was up
	moreContent  reason = "EXCERPT"       // the file has more; not of a list
)

func reasons() []reason { return []reason{moreRows, answerBudget, softDeadline} }

// completenessOf is that of a page: complete without a cursor.
func completenessOf(nextCursor string, why reason) completeness {
	if nextCursor == "" {
		return completeness{Complete: true}
	}
	return completeness{Reason: &why, NextCursor: &nextCursor}
}

// endings are the reasons why a page of results ended.
var endings = map[query.Ending]reason{
	query.AtLimit: moreRows, query.AtAnswerBudget: answerBudget, query.AtSoftDeadline: softDeadline,
}

// compose puts the head before the members of a JSON object.
func compose(h head, object []byte) (Result, error) {
	first, err := wire.Marshal(h)
	if err != nil {
		return Result{}, err
	}
	return Result{Object: join(first, object)}, nil
}

// join makes one JSON object of the members of two, neither of which is empty.
func join(a, b []byte) json.RawMessage {
	out := make([]byte, 0, len(a)+len(b))
	out = append(out, a[:len(a)-1]...)
	out = append(out, ',')
	return append(out, b[1:]...)
}

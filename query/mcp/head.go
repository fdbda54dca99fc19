package mcp

import (
	"encoding/json"

	"preismon/query"
	"preismon/query/wire"
)

// answerBytes bounds an answer to a call without a limit: about 5,500 tokens,
// so that one call does not flood the context of an agent. A call with its own
// limit gets what it requests.
const answerBytes = 14 << 10

// headBytes is allowed in addition, apart from the records: a larger summary
// and echo leave less room for the records.
const headBytes = 2 << 10

// listBytes bounds the sites that a summary lists, and those whose changes are
// counted, in an answer to such a call.
const listBytes = 5 << 10

// listRoom returns that bound for an answer to a call. It is larger for a call
// with a limit, which may request a few records only to get the counts of all.
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
	Note         string       `json:"note,omitempty"` // on selectors that name nothing
}

// counted is the summary of an answer that has no other one.
type counted struct {
	Returned int `json:"returned"`
}

// completeness is whether anything that was requested is still to be read, why,
// and with which cursor (RES-12).
type completeness struct {
	Complete   bool    `json:"complete"`
	Reason     *reason `json:"reason"`
	NextCursor *string `json:"nextCursor"`
}

// reason is why an answer is not complete.
type reason string

// Reasons for an incomplete answer.
const (
	moreRows     reason = "MORE_ROWS"     // the limit was reached
	answerBudget reason = "ANSWER_BUDGET" // the answer was large enough
	softDeadline reason = "SOFT_DEADLINE" // time was up
	moreContent  reason = "EXCERPT"       // not of a list: the file has more
)

func reasons() []reason { return []reason{moreRows, answerBudget, softDeadline} }

// completenessOf returns the completeness of a page: complete without a cursor.
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

// compose puts the head before the members of a JSON object, and makes the
// texts in its summary presentable; those of the object must be.
func compose(h head, object []byte) (Result, error) {
	summary, err := bodyOf(h.Summary, nil)
	if err != nil {
		return Result{}, err
	}
	h.Summary = json.RawMessage(summary)
	return composed(h, object)
}

// composed is compose for a summary whose texts are presentable.
func composed(h head, object []byte) (Result, error) {
	first, err := wire.Marshal(h)
	if err != nil {
		return Result{}, err
	}
	return Result{Object: join(first, object)}, nil
}

// join merges the members of two JSON objects, neither of which is empty, into
// one.
func join(a, b []byte) json.RawMessage {
	out := make([]byte, 0, len(a)+len(b))
	out = append(out, a[:len(a)-1]...)
	out = append(out, ',')
	return append(out, b[1:]...)
}

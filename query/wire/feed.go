package wire

import (
	"strings"
	"time"

	"preismon/query"
)

// Feed is a request for changes.
type Feed struct {
	query.FeedRequest
	Wait   time.Duration // how long to wait for rows at most
	Follow bool
}

// MaxWait is how long a request may wait for rows: less than proxies allow.
const MaxWait = 25 * time.Second

// DecodeFeed reads the parameters of a request for changes.
func DecodeFeed(in *Params) (Feed, error) {
	f := feedParameters(in)
	f.Rows = results(in, func(p query.Parameter) bool { return p.Fed })
	return f, in.Err()
}

// feedParameters reads the parameters that all feeds have, whatever they cover.
func feedParameters(in *Params) (f Feed) {
	f.Limit = in.limit()
	f.Since, _ = in.raw("since", maxCursorBytes)
	f.Wait, _ = time.ParseDuration(in.text("wait")) // its form was checked; empty: none
	f.Follow = in.flag("follow")
	if f.Follow && (f.Limit != nil || f.Wait > 0) {
		in.fault("follow: goes with neither limit nor wait.")
	}
	return f
}

// FeedBody returns the JSON object of a page of changes, in pieces that are
// valid until its rows are released.
func FeedBody(page *query.FeedPage) ([][]byte, error) {
	progress, err := Marshal(page.Progress)
	if err != nil {
		return nil, err
	}
	return [][]byte{[]byte(`{"data":[`), page.Rows.JSON(), []byte(`],"progress":`), progress, {'}'}}, nil
}

// Kinds of control lines.
const (
	ControlProgress = "progress" // all rows before it were sent
	ControlReset    = "reset"    // the feed cannot continue: begin again
	ControlEnd      = "end"      // continue with another request
)

// Control is a line of a feed that is not a row.
type Control struct {
	Control string `json:"_control"`
	*query.Progress
	Reason string `json:"reason,omitempty"` // for a reset, its code
	Detail string `json:"detail,omitempty"`
}

// FeedLines returns the rows of a page, followed by a control line, each on its
// own line; nil: no control line.
func FeedLines(page *query.FeedPage, said *Control) ([]byte, error) {
	var line []byte
	if said != nil {
		var err error
		if line, err = said.Line(); err != nil {
			return nil, err
		}
	}
	rows := page.Rows.JSON()
	lines := make([]byte, 0, len(rows)+1+len(line))
	if lines = append(lines, rows...); page.Rows.Len() > 0 {
		lines = append(lines, '\n')
	}
	return append(lines, line...), nil
}

// Line returns the control line.
func (c *Control) Line() ([]byte, error) {
	line, err := Marshal(c)
	return append(line, '\n'), err
}

// Preferences of the header Prefer (RFC 7240), of which a stream applies one: a
// token of the feed at its end, or no trailers, which some clients take for
// corruption (ClickHouse's url, for one).
const (
	PreferChangesToken = "changes-token"
	PreferNoTrailers   = "no-trailers"
)

// Prefers reports whether the values of the header Prefer contain a preference.
func Prefers(prefer []string, wish string) bool {
	for _, value := range prefer {
		for one := range strings.SplitSeq(value, ",") {
			name, _, _ := strings.Cut(one, ";")
			if strings.EqualFold(strings.TrimSpace(name), wish) {
				return true
			}
		}
	}
	return false
}

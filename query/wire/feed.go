package wire

import (
	"regexp"
	"strings"
	"time"

	"preismon/query"
)

// Feed is a request for changes.
type Feed struct {
	query.FeedRequest
	Wait   time.Duration // at most so long for rows
	Follow bool
}

// MaxWait is how long a request may wait for rows: less than proxies do.
const MaxWait = 25 * time.Second

var waitForm = regexp.MustCompile(`^([0-9]|1[0-9]|2[0-5])s$`)

// DecodeFeed takes the parameters of a request for changes.
func DecodeFeed(in *Params) (Feed, error) {
	f := feedAsked(in)
	f.Rows = results(in, func(p query.Parameter) bool { return p.Fed })
	return f, in.Err()
}

// feedAsked takes how a feed is asked for, whatever it is of.
func feedAsked(in *Params) (f Feed) {
	f.Limit = in.limit()
	f.Since, _ = in.raw("since", maxCursorBytes)
	if wait := in.form("wait", waitForm.MatchString, "0s to 25s"); wait != "" {
		f.Wait, _ = time.ParseDuration(wait) // it has its form
	}
	f.Follow = in.flag("follow")
	if f.Follow && (f.Limit != nil || f.Wait > 0) {
		in.fault("follow: goes with neither limit nor wait.")
	}
	return f
}

// FeedBody is the JSON object of a page of changes, in pieces that are good
// until its rows are released.
func FeedBody(page *query.FeedPage) ([][]byte, error) {
	progress, err := Marshal(page.Progress)
	if err != nil {
		return nil, err
	}
	return [][]byte{[]byte(`{"data":[`), page.Rows.JSON(), []byte(`],"progress":`), progress, {'}'}}, nil
}

// Kinds of control lines.
const (
	ControlProgress = "progress" // all before it was given
	ControlReset    = "reset"    // the feed cannot go on: begin again
	ControlEnd      = "end"      // go on by another request
)

// Control is a line of a feed that is not a row.
type Control struct {
	Control string `json:"_control"`
	*query.Progress
	Reason string `json:"reason,omitempty"` // of a reset its code
	Detail string `json:"detail,omitempty"`
}

// FeedLines are the rows of a page, and after them what is said of them, each on
// a line; nil: nothing is.
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

// Line is the control line.
func (c *Control) Line() ([]byte, error) {
	line, err := Marshal(c)
	return append(line, '\n'), err
}

// Wishes of the header Prefer (RFC 7240) that a stream grants, one of them: a
// token of the feed at its end, or no trailers, which some clients take for
// damage (ClickHouse's url, for one).
const (
	PreferChangesToken = "changes-token"
	PreferNoTrailers   = "no-trailers"
)

// Prefers tells whether the values of the header Prefer have a wish.
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

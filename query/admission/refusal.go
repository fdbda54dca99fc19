package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// errFull marks refusals for lack of capacity.
var errFull = errors.New("no capacity")

// Refused reports whether an error means that there was no capacity: the same
// read may be tried again.
func Refused(err error) bool { return errors.Is(err, errFull) }

const retryAfter = 2 * time.Second

// deadline reports whether a context ended because its deadline passed.
func deadline(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), context.DeadlineExceeded)
}

// refuse returns a refusal that names what the account holds; a is nil if it
// holds nothing.
func (n *Node) refuse(a *account, why bound, what string) error {
	n.counts.refused[why]++
	held := ""
	if a != nil {
		held = a.holding()
	}
	if why == ofAccount {
		return &fault.Error{
			Kind: fault.RateLimited, Err: errFull, RetryAfter: retryAfter,
			Msg: fmt.Sprintf("Your account has its share of this node's %s%s. Read faster, or wait for one to end.", what, held),
		}
	}
	return &fault.Error{
		Kind: fault.Unavailable, Err: errFull, RetryAfter: retryAfter,
		Msg: fmt.Sprintf("This node has no %s left now%s. Send the request again.", what, held),
	}
}

// Explained returns a refusal by a limit elsewhere, extended by what its
// account holds here.
func (n *Node) Explained(err error, id contracts.AccountID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	e, ok := errors.AsType[*fault.Error](err)
	a := n.accounts[id]
	if !ok || a == nil {
		return err
	}
	explained := *e
	explained.Msg = strings.TrimSuffix(e.Msg, ".") + a.holding() + "."
	return &explained
}

// settled is how old a stream must be before its rate is meaningful.
const settled = time.Second

func (a *account) holding() string {
	streams, others, slowest := 0, 0, -1.0
	for r := range a.reads {
		if !r.stream || r.stands == nil {
			if r.stands != nil {
				others++
			}
			continue
		}
		streams++
		if age := time.Since(r.began); age >= settled {
			if rate := float64(r.sent.Load()) / age.Seconds() / 1000; slowest < 0 || rate < slowest {
				slowest = rate
			}
		}
	}
	text := ""
	if streams > 0 {
		text = "; your account: " + counted(streams, "stream")
		if slowest >= 0 {
			text += fmt.Sprintf(", the slowest %.0f kB/s", slowest)
		}
	}
	if others > 0 {
		if text == "" {
			text = "; your account: "
		} else {
			text += ", and "
		}
		text += counted(others, "other read")
	}
	return text
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

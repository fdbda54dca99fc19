// Package fault classifies errors by kind of failure, so that one table can turn
// them into a status and one place can render them. It knows no HTTP and no
// server. Msg is written for the caller and safe to send; Err is internal and is
// never sent.
package fault

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind is the kind of a failure. An error without one is Internal.
type Kind uint8

const (
	Internal        Kind = iota // our own fault
	Invalid                     // the request is wrong; sending it again does not help
	Unauthenticated             // missing, wrong or expired credentials
	Forbidden                   // known, but not allowed
	NotFound                    // no such thing, or none the caller may see
	Conflict                    // it exists, but not in a state that allows the request
	TooLarge                    // over a limit of bytes
	RateLimited                 // too often; see RetryAfter
	Timeout                     // the time budget is used up
	Unavailable                 // a server that we depend on is down; see RetryAfter
	Gone                        // what was there no longer is; the caller starts over
)

var kindNames = [...]string{
	"internal", "invalid", "unauthenticated", "forbidden", "not found", "conflict",
	"too large", "rate limited", "timeout", "unavailable", "gone",
}

func (k Kind) String() string { return kindNames[k] }

// Error is a failure with its kind, its stable machine code, a sentence for
// the caller, and the cause for us.
type Error struct {
	Kind Kind
	Code string // stable machine code of the public contract; empty: the kind's own
	Msg  string // safe to show to the caller
	Err  error  // never shown

	// ActualBytes and MaxBytes belong to TooLarge; -1: unknown.
	ActualBytes, MaxBytes int64
	// RetryAfter belongs to RateLimited and Unavailable.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	switch {
	case e.Err == nil:
		return e.Msg
	case e.Msg == "":
		return e.Err.Error()
	}
	return e.Msg + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// New returns an error for the caller.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Msg: fmt.Sprintf(format, args...)}
}

// Wrap adds a kind and a sentence for the caller to err. A nil err stays nil.
func Wrap(err error, kind Kind, msg string) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: kind, Msg: msg, Err: err}
}

// KindOf returns the kind of an error: that of the first Error in its chain,
// Timeout for a deadline, otherwise Internal.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return Internal
}

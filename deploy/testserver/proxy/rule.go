package proxy

import (
	"bytes"
	"time"
)

// Direction of what passes a proxy.
type Direction int

// The directions.
const (
	Up   Direction = iota // to the server
	Down                  // to the client
)

// Verdict is what becomes of a connection whose rule is met.
type Verdict int

// The verdicts.
const (
	Onward Verdict = iota // nothing: only Act is called
	Hold                  // no byte passes this way any more, and nobody is told
	End                   // FIN to both sides
	Break                 // RST to both sides
)

// Rule says how long one direction of all connections works as it should:
// until, after the bytes of Pattern if there is one, Left bytes have passed.
// With a Pattern it is for the first connection that has it.
type Rule struct {
	Pattern []byte
	Left    int64 // negative: the rule is never met
	Each    bool  // Left is of each connection, not of all together; not with a Pattern
	Then    Verdict
	Act     func()        // called once, before Then
	Delay   time.Duration // of each piece, always: less passes
	Late    time.Duration // of each piece, always: as much passes, so much later
	Answer  *Rule         // put on the other direction of the connection that has the Pattern

	by  *link // whose connection had the pattern
	met bool
}

// judge tells how much of the piece passes, what comes then, and by which rule.
func (p *Proxy) judge(l *link, d Direction, piece []byte) (pass []byte, then Verdict, of Rule) {
	p.mu.Lock()
	r := p.rules[d]
	before := l.passed[d]
	l.passed[d] += int64(len(piece))
	if r == nil {
		p.mu.Unlock()
		return piece, Onward, of
	}
	of = *r
	act := func() {}
	defer func() { act() }()
	defer p.mu.Unlock()
	if len(r.Pattern) > 0 && r.by == nil && !r.meet(p, l, d, piece) || r.by != nil && r.by != l {
		return piece, Onward, of
	}
	left := r.Left
	if r.Each && left >= 0 {
		left = max(0, left-before)
	}
	if left < 0 || int64(len(piece)) < left {
		if !r.Each {
			r.Left -= min(int64(len(piece)), max(left, 0))
		}
		return piece, Onward, of
	}
	if !r.Each {
		r.Left = 0
	}
	if !r.met {
		r.met = true
		if r.Act != nil {
			act = r.Act
		}
	}
	if r.Then == Onward {
		r.Left = -1
		return piece, Onward, of
	}
	l.passed[d] = before + left
	return piece[:left], r.Then, of
}

// meet looks for the pattern in what a connection sends.
func (r *Rule) meet(p *Proxy, l *link, d Direction, piece []byte) bool {
	n := len(l.tail[d])
	all := append(l.tail[d], piece...)
	at := bytes.Index(all, r.Pattern)
	if at < 0 {
		l.tail[d] = append([]byte(nil), all[max(0, len(all)-len(r.Pattern)+1):]...)
		return false
	}
	r.by, l.tail[d] = l, nil
	if r.Answer != nil {
		r.Answer.by = l
		p.rules[1-d] = r.Answer
	}
	r.Left += int64(max(0, at+len(r.Pattern)-n)) // from the pattern's end on
	return true
}

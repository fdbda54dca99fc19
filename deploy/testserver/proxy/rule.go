package proxy

import (
	"bytes"
	"time"
)

// Direction is that of bytes through a proxy.
type Direction int

// The directions.
const (
	Up   Direction = iota // to the server
	Down                  // to the client
)

// Verdict is what happens to a connection whose rule is met.
type Verdict int

// The verdicts.
const (
	Onward Verdict = iota // nothing: only Act is called
	Hold                  // no byte passes in this direction any more, and neither side is notified
	End                   // FIN to both sides
	Break                 // RST to both sides
)

// Rule applies Then to one direction of all connections after Left bytes,
// counted from the end of Pattern if there is one. With a Pattern it applies to
// the first connection that contains it.
type Rule struct {
	Pattern []byte
	Left    int64 // negative: the rule is never met
	Each    bool  // Left counts for each connection, not for all together; not with a Pattern
	Then    Verdict
	Act     func()        // called one time, before Then
	Delay   time.Duration // of each piece, always: reduces the throughput
	Late    time.Duration // of each piece, always: delays it without reducing the throughput
	Answer  *Rule         // applied to the other direction of the connection with the Pattern

	by  *link // whose connection had the pattern
	met bool
}

// judge returns how much of the piece passes, what happens then, and by which rule.
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

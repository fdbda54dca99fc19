package proxy_test

import (
	"bytes"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/proxy"
)

// echo sends back what it receives.
func echo(t *testing.T) (address string) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	return l.Addr().String()
}

// TestProxy: a proxy that did not break what it reports would prove nothing.
func TestProxy(t *testing.T) {
	server := echo(t)
	sent := bytes.Repeat([]byte("0123456789"), 20_000)
	sent = append(sent[:100_001], append([]byte("the pattern"), sent[100_001:]...)...)
	for name, c := range map[string]struct {
		d    proxy.Direction
		r    proxy.Rule
		want int // bytes that come back
		ends bool
	}{
		"pass":                         {proxy.Up, proxy.Rule{Left: -1, Then: proxy.Break}, len(sent), false},
		"cut the way there":            {proxy.Up, proxy.Rule{Left: 70_000, Then: proxy.Break}, -1, true},
		"cut the way back":             {proxy.Down, proxy.Rule{Left: 70_000, Then: proxy.Break}, -1, true},
		"ended the way back":           {proxy.Down, proxy.Rule{Left: 70_000, Then: proxy.End}, 70_000, true},
		"blackhole":                    {proxy.Up, proxy.Rule{Left: 70_000, Then: proxy.Hold}, 70_000, false},
		"blackhole the way back":       {proxy.Down, proxy.Rule{Left: 12, Then: proxy.Hold}, 12, false},
		"hold at a pattern":            {proxy.Up, proxy.Rule{Pattern: []byte("the pattern"), Then: proxy.Hold}, 100_012, false},
		"hold 7 bytes after it":        {proxy.Up, proxy.Rule{Pattern: []byte("the pattern"), Left: 7, Then: proxy.Hold}, 100_019, false},
		"hold the answer to a pattern": {proxy.Up, proxy.Rule{Pattern: []byte("the pattern"), Left: -1, Answer: &proxy.Rule{Then: proxy.Hold}}, -2, false},
		"only tell of it":              {proxy.Up, proxy.Rule{Pattern: []byte("the pattern")}, len(sent), false},
		"a pattern that is not met":    {proxy.Up, proxy.Rule{Pattern: []byte("another one"), Then: proxy.Hold}, len(sent), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := proxy.New(t, server)
			var acted atomic.Int32
			c.r.Act = func() { acted.Add(1) }
			p.Set(c.d, c.r)
			conn := must.Get(net.Dial("tcp", p.Address()))(t)
			defer conn.Close() //nolint:errcheck // in a test
			go func() { _, _ = conn.Write(sent) }()
			read := func(n int) (got []byte, err error) {
				got = make([]byte, n)
				_ = conn.SetReadDeadline(time.Now().Add(250 * time.Millisecond))
				k, err := io.ReadFull(conn, got)
				return got[:k], err
			}
			got, err := read(len(sent))
			timedOut := false
			if e, ok := err.(net.Error); ok {
				timedOut = e.Timeout()
			}
			switch {
			case c.ends && (err == nil || timedOut || len(got) > 70_000):
				t.Errorf("%d bytes came back, error %v", len(got), err)
			case c.want == -2: // what was in transit at the pattern comes back
				if len(got) >= len(sent) || !timedOut {
					t.Errorf("%d bytes came back, error %v", len(got), err)
				}
				return
			case !c.ends && (len(got) != c.want || !bytes.Equal(got, sent[:c.want])):
				t.Errorf("%d bytes came back, want %d; error %v", len(got), c.want, err)
			}
			if !c.ends && c.want < len(sent) {
				p.Heal()
				if rest, err := read(len(sent) - c.want); err != nil || !bytes.Equal(rest, sent[c.want:]) {
					t.Errorf("after it healed %d of %d bytes came back: %v", len(rest), len(sent)-c.want, err)
				}
			}
			if met := name != "pass" && name != "a pattern that is not met"; (acted.Load() == 1) != met {
				t.Errorf("it acted %d times", acted.Load())
			}
		})
	}
}

// TestLate: delayed bytes arrive complete, in order and no sooner, and bytes
// that are no longer delayed do not overtake them.
func TestLate(t *testing.T) {
	p := proxy.New(t, echo(t))
	c := must.Get(net.Dial("tcp", p.Address()))(t)
	defer c.Close() //nolint:errcheck // in a test
	const late = 300 * time.Millisecond
	p.Set(proxy.Up, proxy.Rule{Left: -1, Late: late})
	began := time.Now()
	var sent []byte
	for i := range 20 {
		piece := bytes.Repeat([]byte{byte('a' + i)}, 10_000)
		sent = append(sent, piece...)
		must.Get(c.Write(piece))(t)
		if i == 15 {
			time.Sleep(20 * time.Millisecond) // so that some are in transit
			p.Heal()
		}
	}
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	got := make([]byte, len(sent))
	must.Get(io.ReadFull(c, got[:1]))(t)
	if took := time.Since(began); took < late {
		t.Errorf("the first byte came after %s", took)
	}
	must.Get(io.ReadFull(c, got[1:]))(t)
	if !bytes.Equal(got, sent) {
		t.Error("the bytes came in another order")
	}
}

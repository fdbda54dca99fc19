package query

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"preismon/deploy/testserver/must"
)

// projected stands for tables that move, and for the signal that they did.
type projected struct {
	mu    sync.Mutex
	at    Edge
	asks  int
	asked chan struct{} // a question was answered
	told  chan struct{} // closed when they move; nil: no signal
}

func (p *projected) edges() *edges { return newEdges(p.edge, p.written) }

func (p *projected) edge(context.Context) (Edge, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asks++
	select {
	case p.asked <- struct{}{}:
	default:
	}
	return p.at, nil
}

func (p *projected) written() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told
}

func (p *projected) move() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at.Watermark.Seq++
	if p.told != nil {
		close(p.told)
		p.told = make(chan struct{})
	}
}

// A waiting reader is woken by the signal that the tables moved, not by the
// next query, and few queries are made meanwhile.
func TestEdgesAreQueriedWhenTheyMove(t *testing.T) {
	p := &projected{asked: make(chan struct{}), told: make(chan struct{})}
	e := p.edges()
	e.enter() // as a reader that waits for long
	defer e.leave()
	least := time.Hour
	for seq := range uint64(5) {
		seen := Edge{Watermark: Watermark{Seq: seq}}
		<-p.asked // from now on the next query is edgeSeldom away
		began := time.Now()
		p.move()
		now, err := e.beyond(t.Context(), seen, Wait{Most: time.Minute})
		if err != nil || now.Watermark.Seq <= seq {
			t.Fatalf("%+v, %v", now, err)
		}
		least = min(least, time.Since(began))
	}
	if least > edgeSeldom/2 {
		t.Errorf("woken after %s at best", least)
	}
	p.mu.Lock()
	before := p.asks
	p.mu.Unlock()
	const quiet = time.Second
	time.Sleep(quiet)
	p.mu.Lock()
	defer p.mu.Unlock()
	if asks, most := p.asks-before, int(quiet/edgeSeldom)+2; asks > most {
		t.Errorf("asked %d times while nothing moved, at most %d are needed", asks, most)
	}
}

// A replica that is behind the signal is queried again soon.
func TestEdgesOfALateReplica(t *testing.T) {
	p := &projected{asked: make(chan struct{}), told: make(chan struct{})}
	e := p.edges()
	e.enter()
	defer e.leave()
	least := time.Hour
	for seq := range uint64(5) {
		<-p.asked
		p.mu.Lock()
		close(p.told)
		p.told = make(chan struct{})
		p.mu.Unlock()
		<-p.asked // finds nothing
		began := time.Now()
		p.mu.Lock()
		p.at.Watermark.Seq++
		p.mu.Unlock()
		must.Get(e.beyond(t.Context(), Edge{Watermark: Watermark{Seq: seq}}, Wait{Most: time.Minute}))(t)
		least = min(least, time.Since(began))
	}
	if least > edgeSeldom/2 {
		t.Errorf("woken after %s at best", least)
	}
}

// Where there is no signal, the tables are queried often.
func TestEdgesArePolledOftenWithoutReports(t *testing.T) {
	p := &projected{asked: make(chan struct{})}
	e := p.edges()
	e.enter()
	defer e.leave()
	for range 10 {
		select {
		case <-p.asked:
		case <-time.After(10 * time.Second):
			t.Fatal("not asked for 10 s")
		}
	}
	<-p.asked
	began := time.Now()
	p.move()
	must.Get(e.beyond(t.Context(), Edge{}, Wait{Most: time.Minute}))(t)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("woken after %s", took)
	}
}

// TestEdgesWaitForReaders: while readers read up to an edge, nobody is woken
// for the next one; when the last of them has read, or takes too long, that is
// done at once.
func TestEdgesWaitForReaders(t *testing.T) {
	for name, reads := range map[string]time.Duration{"read in time": 137 * time.Millisecond, "slow": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &projected{asked: make(chan struct{}), told: make(chan struct{})}
				e := p.edges()
				first := must.Get(e.beyond(t.Context(), Edge{Watermark: Watermark{Seq: 7}}, Wait{Most: time.Minute}))(t)
				e.enter() // as another reader, which waits
				defer e.leave()
				synctest.Wait()
				began := time.Now()
				go func() {
					defer e.read()()
					select {
					case <-time.After(reads):
					case <-t.Context().Done():
					}
				}()
				time.Sleep(edgeLeast)
				p.move()
				must.Get(e.beyond(t.Context(), first.Edge, Wait{Most: time.Minute}))(t)
				if took, want := time.Since(began), min(reads, edgeRest); took != want {
					t.Errorf("woken after %s, want %s", took, want)
				}
			})
		})
	}
}

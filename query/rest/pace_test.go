package rest_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/query/rest"
)

// A client that reads too slowly is cut off visibly: no final chunk ends the
// answer. It is logged and counted.
func TestSlowReaderIsBrokenOff(t *testing.T) {
	t.Parallel() // it mostly waits
	served := make(chan rest.Served, 1)
	s := serve(t, func(set *settings) {
		set.rest.Stall, set.rest.MinRate, set.unchecked = 2*time.Second, 1<<20, true
		set.serving = func() func(rest.Served) { return func(s rest.Served) { served <- s } }
	})
	for len(s.store.rows) < 60_000 {
		s.store.rows = append(s.store.rows, s.store.rows[:50]...)
	}
	s.store.blockMax = 10_000
	conn := must.Get(net.Dial("tcp", s.Listener.Addr().String()))(t)
	defer conn.Close()
	must.Do(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	must.Get(fmt.Fprintf(conn, "GET /v1/results/stream?includeExportFields=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", s.token(reader)))(t)
	var end []byte
	for piece := make([]byte, 20_000); ; time.Sleep(100 * time.Millisecond) { // it is never silent
		n, err := conn.Read(piece)
		if end = append(end, piece[:n]...); len(end) > 100 {
			end = end[len(end)-100:]
		}
		if err != nil {
			break
		}
		select {
		case last := <-served:
			if !last.Slow || !last.Broken {
				t.Errorf("%+v", last)
			}
			served <- last
			_, _ = io.Copy(io.Discard, conn)
		default:
			continue
		}
		break
	}
	if strings.HasSuffix(string(end), "0\r\n\r\n") || strings.Contains(string(end), "X-Results-Complete") {
		t.Error("the answer ended as if it were whole")
	}
	if log := s.log.String(); !strings.Contains(log, "reader broken off: too slow") || !strings.Contains(log, `"account":"1"`) {
		t.Errorf("the log: %.600s", log)
	}
}

package notify

import (
	"bufio"
	"fmt"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowMailServer takes its time for each answer, by the beginning of the
// command; "." is the end of a mail, and "" is the greeting.
func slowMailServer(conn net.Conn, takes map[string]time.Duration) {
	defer conn.Close() //nolint:errcheck // it is over
	answer := func(command, text string) bool {
		time.Sleep(takes[command])
		_, err := fmt.Fprint(conn, text+"\r\n")
		return err == nil
	}
	in, inText := bufio.NewScanner(conn), false
	for goesOn := answer("", "220 mail.example"); goesOn && in.Scan(); {
		switch command, _, _ := strings.Cut(in.Text(), " "); {
		case inText && command != ".":
		case command == "DATA":
			inText = true
			goesOn = answer(command, "354 Go on.")
		default:
			inText = false
			goesOn = answer(command, "250 Yes.")
		}
	}
}

// A mail server that answers late has accepted the mail nevertheless; one that
// never answers does not hold it up for ever.
func TestSlowMailServer(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		takes map[string]time.Duration
		most  time.Duration
		taken bool
	}{
		"scans":          {map[string]time.Duration{".": 4 * time.Minute}, 5 * time.Minute, true},
		"greets late":    {map[string]time.Duration{"": 30 * time.Second}, time.Minute, true},
		"does not leave": {map[string]time.Duration{"QUIT": never}, 2 * time.Second, true},
		"never greets":   {map[string]time.Duration{"": never}, 2 * time.Minute, false},
		"never accepts":  {map[string]time.Duration{".": never}, 6 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				var server sync.WaitGroup
				defer server.Wait()
				server.Go(func() { slowMailServer(theirs, c.takes) })
				e := &Email{from: &mail.Address{Address: "a@shop.example"}, to: []*mail.Address{{Address: "b@shop.example"}}, TLS: "none", host: "mail.example"}
				began := time.Now()
				err := e.send(ours, nil, []byte("Subject: x\r\n\r\ny\r\n"))
				if took := time.Since(began); (err == nil) != c.taken || took > c.most {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

package archive

import (
	"context"
	"net"
	"net/http"
	"time"
)

// newTransport creates connections that fail if nothing moves for stall. Unlike
// a limit on the total time, a limit on progress suits files of any size.
func newTransport(stall time.Duration) *http.Transport {
	dialer := net.Dialer{Timeout: min(stall, 10*time.Second)}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &stallConn{Conn: conn, limit: stall}, nil
		},
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     time.Minute,
		TLSHandshakeTimeout: min(stall, 10*time.Second),
		DisableCompression:  true, // an artifact must arrive as stored, not decoded
	}
}

// stallConn ends a read or a write that makes no progress. A write also extends
// the deadline of the read that waits for the answer; a long upload would
// otherwise exceed it.
type stallConn struct {
	net.Conn
	limit time.Duration
}

func (c *stallConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *stallConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

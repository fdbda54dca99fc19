package rest

import (
	"net"
	"syscall"
)

// tcpNotSentLowat is TCP_NOTSENT_LOWAT, which package syscall does not name.
const tcpNotSentLowat = 25

// boundUnsent bounds what the kernel buffers for a client in addition to what
// is in flight. By default that buffer grows to 4 MiB: as much is read even for
// a client that takes nothing, and the memory is not counted. A distant client
// is as fast as before, because what is in flight is not bounded.
func boundUnsent(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return // the connection has ended
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, unsentBytes)
	})
}

package rest

import (
	"net"
	"syscall"
)

// tcpNotSentLowat is TCP_NOTSENT_LOWAT, which package syscall does not name.
const tcpNotSentLowat = 25

// boundUnsent bounds what the kernel takes for a client beside what is on its
// way. By default that grows to 4 MiB: a client that takes nothing is read for
// as if it took so much, and nobody counts the memory. A client far away is as
// fast as before, for what is on its way is not bounded.
func boundUnsent(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return // it has ended
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, unsentBytes)
	})
}

//go:build !linux

package rest

import "net"

// boundUnsent leaves the connection unchanged.
func boundUnsent(net.Conn) {}

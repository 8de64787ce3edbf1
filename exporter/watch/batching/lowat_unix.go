//go:build unix

package batching

import (
	"net"
	"syscall"
)

// setLowWaterMark makes the kernel report the connection as readable only from this many bytes on. Without that, the
// runtime's poller wakes a thread for each packet, even while nobody reads. Errors do not matter: not every connection is a
// socket, and batching works without it.
func setLowWaterMark(conn net.Conn, bytes int) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := socket.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bytes) })
	}
}

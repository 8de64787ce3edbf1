//go:build unix

package watch

import (
	"net"
	"syscall"
)

// wakeFor lets the kernel wake the process for this many bytes and not for fewer. Else each packet would, even while
// nobody reads. If it cannot, as with what is not a socket, that is all there is to it.
func wakeFor(conn net.Conn, bytes int) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := socket.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bytes) })
	}
}

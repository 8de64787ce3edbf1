//go:build unix

package apiclient

import (
	"net"
	"syscall"
)

// setLowWaterMark makes the kernel report the connection as readable only when the given number of bytes is available.
// By default, the runtime's poller wakes a thread for each packet, even if no goroutine reads. Errors are ignored,
// because batching also works without the low-water mark.
func setLowWaterMark(conn net.Conn, bytes int) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := socket.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bytes) })
	}
}

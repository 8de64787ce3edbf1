//go:build !unix

package watch

import "net"

// wakeFor does nothing: the process is woken for each packet.
func wakeFor(net.Conn, int) {}

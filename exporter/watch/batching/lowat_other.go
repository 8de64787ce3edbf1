//go:build !unix

package batching

import "net"

// setLowWaterMark does nothing: each packet wakes the process.
func setLowWaterMark(net.Conn, int) {}

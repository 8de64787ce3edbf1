//go:build !unix

package batching

import "net"

// setLowWaterMark does nothing, so each packet wakes the process.
func setLowWaterMark(net.Conn, int) {}

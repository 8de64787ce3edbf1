//go:build !unix

package apiclient

import "net"

// setLowWaterMark does nothing on this platform, so each packet wakes the process.
func setLowWaterMark(net.Conn, int) {}

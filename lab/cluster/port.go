package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// The kernel assigns ports from 32768 upward to clients. The lab's servers use lower ports, so no client can take the
// port of a server.
const (
	firstPort = 20000
	ports     = 12000
)

// given is the set of ports that FreePort has returned in this process.
var given sync.Map

// FreePort returns an unused address on loopback. It never returns the same address twice.
func FreePort() string {
	var refused error
	for range ports {
		port := firstPort + rand.IntN(ports)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			refused = err
			continue
		}
		defer listener.Close()
		return listener.Addr().String()
	}
	panic(fmt.Errorf("find a free port: %w", refused))
}

package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// The ports that the lab's servers get are below those that the kernel gives to clients (from 32768 on): a
// server listens only a while after its port was chosen, and no connection must have taken it by then.
const (
	firstPort = 20000
	ports     = 12000
)

// given are the ports that this process has given away.
var given sync.Map

// FreePort is an address on loopback that nothing listens on, a new one with each call.
func FreePort() (string, error) {
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
		return listener.Addr().String(), nil
	}
	return "", fmt.Errorf("find a free port: %w", refused)
}

package proxy

import (
	"context"
	"sync"
)

// gate lets data pass while it is open.
type gate struct {
	mu sync.Mutex
	// way is a closed channel while the gate is open. While it is shut, a receive from way blocks.
	way chan struct{}
}

func newGate() *gate {
	g := &gate{way: make(chan struct{})}
	close(g.way)
	return g
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.way:
		g.way = make(chan struct{})
	default: // already shut
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.way:
	default:
		close(g.way)
	}
}

// pass waits while the gate is shut. It returns an error if the context ends.
func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	way := g.way
	g.mu.Unlock()
	select {
	case <-way:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

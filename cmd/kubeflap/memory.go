package main

import (
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// gcPercent is the amount of garbage that triggers a collection, in percent of the live heap. A small value saves
	// memory. The additional CPU cost is small, because the live heap changes little.
	gcPercent = 25
	// memoryShare is the soft memory limit of the Go runtime, as a fraction of the container's memory limit.
	memoryShare = 0.9
)

// limitMemory configures the garbage collector and the memory limit. GOGC, GOMEMLIMIT and AUTOMEMLIMIT take precedence.
func limitMemory(logger *slog.Logger) {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, err := memlimit.Set(memlimit.WithRatio(memoryShare)); err != nil {
		logger.Debug("no memory limit was set", "err", err) // a missing cgroup is normal outside of a container
	}
}

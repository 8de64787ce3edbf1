package main

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// gcPercent is the amount of garbage that triggers a collection, in percent of the live heap. A small value saves
	// memory. The additional CPU cost is small, because the live heap changes little.
	gcPercent = 25
	// busyGCPercent is gcPercent while manyCollections or more run in gcWindow. Collections then take much CPU time, and
	// each of them delays the scrapes that it meets.
	busyGCPercent   = 50
	manyCollections = 3
	gcWindow        = 10 * time.Second
	// memoryShare is the soft memory limit of the Go runtime, as a fraction of the container's memory limit.
	memoryShare = 0.9
)

// limitMemory configures the garbage collector and the memory limit. GOGC, GOMEMLIMIT and AUTOMEMLIMIT take precedence.
func limitMemory(logger *slog.Logger) {
	if !gcIsSet() {
		debug.SetGCPercent(gcPercent)
	}
	if _, err := memlimit.Set(memlimit.WithRatio(memoryShare)); err != nil {
		logger.Debug("no memory limit was set", "err", err) // a missing cgroup is normal outside of a container
	}
}

func gcIsSet() bool {
	_, set := os.LookupEnv("GOGC")
	return set
}

// paceCollections makes collections rarer while there are many, until ctx is canceled. GOGC takes precedence.
func paceCollections(ctx context.Context) {
	if gcIsSet() {
		return
	}
	percent, last := gcPercent, collections()
	for wait(ctx, gcWindow); ctx.Err() == nil; wait(ctx, gcWindow) {
		now, next := collections(), percent
		switch {
		case now-last >= manyCollections:
			next = busyGCPercent
		case now == last:
			next = gcPercent
		}
		if next != percent {
			debug.SetGCPercent(next) // stops the program for a moment
		}
		percent, last = next, now
	}
}

// collections returns the number of collections so far.
func collections() uint64 {
	count := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(count)
	return count[0].Value.Uint64()
}

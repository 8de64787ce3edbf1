package main

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// gcPercent is how much garbage may collect, in percent of the live heap, before the collector runs. The live heap changes
	// little, so a small value costs few collections more.
	gcPercent = 25
	// memoryShare is the share of the container's memory that the runtime may use before it collects more often.
	memoryShare = 0.9
)

// limitMemory sets the garbage collector's target and the memory limit. GOGC, GOMEMLIMIT and AUTOMEMLIMIT take precedence.
func limitMemory(logger *slog.Logger) {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, err := memlimit.Set(memlimit.WithRatio(memoryShare)); err != nil {
		level := slog.LevelDebug // there may be no cgroup
		if _, set := os.LookupEnv("AUTOMEMLIMIT"); set {
			level = slog.LevelWarn
		}
		logger.Log(context.Background(), level, "no memory limit was set", "err", err)
	}
}

package main

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// gcPercent is how much garbage may gather, in percent of what is in use, before it is collected.
	// What is in use changes little, so that less room costs few collections more.
	gcPercent = 25
	// memoryShare is how much of its container's memory the heap may fill before it is collected more often.
	memoryShare = 0.9
)

// limitMemory tells the collector how much memory there is. Who sets GOGC, GOMEMLIMIT or AUTOMEMLIMIT knows better.
func limitMemory(logger *slog.Logger) {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, err := memlimit.Set(memlimit.WithRatio(memoryShare)); err != nil {
		level := slog.LevelDebug // there may be no cgroup
		if _, set := os.LookupEnv("AUTOMEMLIMIT"); set {
			level = slog.LevelWarn
		}
		logger.Log(context.Background(), level, "no memory limit is set", "err", err)
	}
}

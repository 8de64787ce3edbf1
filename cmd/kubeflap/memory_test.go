package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"
)

// TestCollectionsAreRarerWhileThereAreMany runs collections, and checks the percentage of garbage that triggers the next ones.
func TestCollectionsAreRarerWhileThereAreMany(t *testing.T) {
	if _, set := os.LookupEnv("GOGC"); set {
		t.Skip("GOGC is set")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	runtime.GC() // may be due at this percentage
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go paceCollections(ctx)
		synctest.Wait()
		for i, x := range []struct{ collections, percent int }{
			{2, gcPercent}, {3, busyGCPercent}, {1, busyGCPercent}, {0, gcPercent}, {1, gcPercent}, {4, busyGCPercent},
		} {
			for range x.collections {
				runtime.GC()
			}
			time.Sleep(gcWindow)
			synctest.Wait()
			percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
			if metrics.Read(percent); percent[0].Value.Uint64() != uint64(x.percent) {
				t.Errorf("after window %d, GOGC is %d, want %d", i, percent[0].Value.Uint64(), x.percent)
			}
		}
	})
}

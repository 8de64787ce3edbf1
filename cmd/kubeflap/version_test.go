package main

import (
	"runtime/debug"
	"testing"
)

// TestVersionOfABuildFromSource checks the version string. The test of the release builds from source and checks it, too.
func TestVersionOfABuildFromSource(t *testing.T) {
	for noted, want := range map[string]string{
		"v1.2.3": "1.2.3",
		"v1.2.4-0.20260302112233-0123456789ab+dirty": "1.2.4-0.20260302112233-0123456789ab+dirty",
		"(devel)": "devel", "": "devel",
	} {
		if got := versionOf(&debug.BuildInfo{Main: debug.Module{Version: noted}}); got != want {
			t.Errorf("%s: got %s, want %s", noted, got, want)
		}
	}
}

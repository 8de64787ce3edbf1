package main

import (
	"runtime/debug"
	"strings"

	"github.com/prometheus/common/version"
)

// setVersion sets the version if make did not: after go build and go install, the Go toolchain has noted one.
func setVersion() {
	if info, ok := debug.ReadBuildInfo(); ok && version.Version == "" {
		version.Version = versionOf(info)
	}
}

// versionOf is that of the module: a release, or one made of the time and the ID of the commit.
func versionOf(info *debug.BuildInfo) string {
	if info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel" // there was no repository
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

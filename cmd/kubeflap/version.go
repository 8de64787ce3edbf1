package main

import (
	"runtime/debug"
	"strings"

	"github.com/prometheus/common/version"
)

// setVersion sets the version if make has not set it. After go build or go install, it uses the version recorded by the
// Go toolchain.
func setVersion() {
	if info, ok := debug.ReadBuildInfo(); ok && version.Version == "" {
		version.Version = versionOf(info)
	}
}

// versionOf returns the main module's version: a release, or a pseudo-version with the commit's time and ID.
func versionOf(info *debug.BuildInfo) string {
	if info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel" // the binary was built outside of a repository
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

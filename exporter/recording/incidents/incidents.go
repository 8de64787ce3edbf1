// Package incidents holds the recordings of five incidents, made in the lab on a
// real control plane (make lab SCENARIO=... SAVE=...). They feed the demo and the tests.
package incidents

import "embed"

// Files are the recordings, one a file.
//
//go:embed *.jsonl.gz
var Files embed.FS

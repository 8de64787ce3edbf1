// Package incidents contains recordings of five incidents. They were made with a real control plane (make lab
// SCENARIO=... SAVE=...). The demo and the tests replay them.
package incidents

import "embed"

// Files contains the recordings, one per file.
//
//go:embed *.jsonl.gz
var Files embed.FS

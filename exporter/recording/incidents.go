package recording

import "embed"

// Incidents contains recordings of five incidents, in the directory incidents. They were made with a real control plane
// (make lab SCENARIO=... RECORD=...). The demo and the tests replay them.
//
//go:embed incidents/*.jsonl.gz
var Incidents embed.FS

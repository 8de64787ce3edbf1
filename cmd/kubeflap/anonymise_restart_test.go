package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
)

// TestAnonymisingADirectoryOverARestart checks that pseudonyms change no verdict, although kubeflap restarts during an
// incident, and a node is deleted meanwhile.
func TestAnonymisingADirectoryOverARestart(t *testing.T) {
	names := regexp.MustCompile(`(?m)^[0-9a-f]{16}|node-\d|namespace-\d+/service-\d+|shop/(web|single)`)
	dir, anonymised := t.TempDir(), filepath.Join(t.TempDir(), "anonymised.jsonl.gz")
	c := clustertest.Told("start 9; 0 service single 5; 300 silent 5 until 700; 500 delete 1; 1200 silent 3 until 1262")
	restartedOnce(t, &restarted{cluster: c, dir: dir, size: 500, bytes: 1 << 30}, 400, 600, 2000)
	must(t, "anonymise", dir, anonymised)
	tables := map[string]string{}
	for _, path := range []string{dir, anonymised} {
		table := names.ReplaceAllString(must(t, "incidents", path, "-o=wide"), "NAME")
		tables[path] = strings.Join(strings.Fields(table), " ") // the widths of the columns depend on the names
	}
	if tables[dir] != tables[anonymised] || strings.Count(tables[dir], " node_heartbeat_lost ") != 2 {
		t.Errorf("with real names\n%s\nwith pseudonyms\n%s", tables[dir], tables[anonymised])
	}
}

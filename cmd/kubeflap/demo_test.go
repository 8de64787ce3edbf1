package main

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	toolkit "github.com/prometheus/exporter-toolkit/web"
)

// TestTheDemo compares what the demo prints with a file. No node is blamed for the stalled etcd of the third recording, and
// all times of a recording are in order.
func TestTheDemo(t *testing.T) { golden(t, "testdata/demo.txt", playDemo(t)) }

// playDemo replays the embedded recordings without waiting and returns the terminal output.
func playDemo(t *testing.T) string {
	t.Helper()
	recordings, err := openIncidents()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d := newDemo(recordings, 0, trackerSettings(), "http://localhost:9969", "bin/kubeflap", &out)
	d.introduce(false)
	if err := d.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.conclude()
	return out.String()
}

func TestTheDemoTakesAnotherPortOnlyForTheDefault(t *testing.T) {
	var config net.ListenConfig
	if taken, err := config.Listen(t.Context(), "tcp", defaultAddress); err == nil {
		t.Cleanup(func() { _ = taken.Close() })
	} // otherwise another process is using the port
	listen := func(address string) (string, bool) {
		flags := &toolkit.FlagConfig{WebListenAddresses: &[]string{address}}
		moved, err := takeFreePort(context.Background(), flags)
		if err != nil {
			t.Fatal(err)
		}
		return (*flags.WebListenAddresses)[0], moved
	}
	if got, moved := listen(defaultAddress); !moved || got == defaultAddress || !strings.HasPrefix(got, ":") {
		t.Errorf("the default port is in use, and the demo listens on %s (moved %v)", got, moved)
	}
	if got, moved := listen("127.0.0.1:9969"); moved || got != "127.0.0.1:9969" {
		t.Errorf("a given address was replaced by %s", got)
	}
}

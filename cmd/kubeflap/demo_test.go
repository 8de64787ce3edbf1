package main

import (
	"bytes"
	"testing"
)

// TestTheDemo compares what the demo prints with a file. No node is blamed for the stalled etcd of the second recording, and
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
	d := newDemo(recordings, 0, &out)
	d.introduce("http://localhost:9969")
	if err := d.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.conclude()
	return out.String()
}

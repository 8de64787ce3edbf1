package flightrecorder_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestASegmentThatCannotBeContinued damages or deletes the current segment. The next one must then begin with new lists,
// because the state cannot be computed.
func TestASegmentThatCannotBeContinued(t *testing.T) {
	withoutRaceDetector(t)
	for name, lose := range map[string]func(path string) error{
		"it is deleted": os.Remove,
		"a bit flips": func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, flipped(text), 0o600))
		},
		"it is cut short": func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, half(text), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := settings(t)
				var c *cluster
				s.List = func(ctx context.Context, kind event.Kind, each func(event.Object)) (string, error) {
					return c.api(ctx, kind, each)
				}
				r, stop, log := run(t, s)
				c = newCluster(7, r)
				c.list()
				changes := func(n int) {
					for range n {
						time.Sleep(10 * time.Second)
						c.change()
						time.Sleep(time.Millisecond)
					}
				}
				changes(500)
				if err := lose(files(t, s.Dir)[0]); err != nil {
					t.Fatal(err)
				}
				changes(300)
				at, objects, sent := now(), maps.Clone(c.objects), len(c.sent)
				changes(1500)
				stop()
				if rest := checkState(t, read(t, s.Dir, at, now()), objects); !reflect.DeepEqual(rest, c.sent[sent:]) {
					t.Errorf("%d events after the state, want %d", len(rest), len(c.sent)-sent)
				}
				if status := r.Status(); !status.Recording || status.Gaps != 1 || strings.Count(log.String(), "\n") != 2 {
					t.Errorf("%+v, %s", status, log)
				}
			})
		})
	}
}

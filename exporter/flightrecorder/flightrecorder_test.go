package flightrecorder_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

func TestWhatIsRecordedIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := settings(t)
		r, stop := run(t, s)
		c, start := newCluster(1, r), now()
		c.list()
		for range 500 {
			time.Sleep(time.Second)
			c.change()
		}
		stop()
		for _, from := range []time.Time{start, {}} {
			if got := read(t, s.Dir, from, now()); !reflect.DeepEqual(got, c.sent) {
				t.Errorf("from %v: %d events, want the %d that were recorded", from, len(got), len(c.sent))
			}
		}
		files, err := filepath.Glob(filepath.Join(s.Dir, "*"))
		if err != nil || len(files) < 2 {
			t.Fatalf("files %v, %v", files, err)
		}
		for _, path := range append(files, s.Dir) {
			want := map[bool]os.FileMode{true: 0o700, false: 0o600}[path == s.Dir]
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s has mode %v, want %v: %v", path, info.Mode(), want, err)
			}
		}
	})
}

// TestReadingBeginsWithTheStateAtItsTime checks that Read returns the state of the cluster at the requested time, then
// the later events: within a segment, at its start, and across several segments.
func TestReadingBeginsWithTheStateAtItsTime(t *testing.T) {
	withoutRaceDetector(t)
	synctest.Test(t, func(t *testing.T) {
		s := settings(t)
		s.Size = 200_000 // a small limit creates many segments
		r, stop := run(t, s)
		c := newCluster(2, r)
		c.list()
		type moment struct {
			at      time.Time
			objects map[event.UID]event.Object
			sent    int
		}
		var moments []moment
		every := 100
		if testing.Short() {
			every = 400
		}
		for i := range 6000 {
			time.Sleep(10 * time.Second)
			if i%every == every/2 {
				moments = append(moments, moment{now(), maps.Clone(c.objects), len(c.sent)})
				time.Sleep(time.Millisecond)
			}
			c.change()
		}
		stop()
		status := r.Status()
		segments, err := flightrecorder.Segments(s.Dir)
		size := int64(0)
		for _, segment := range segments {
			size += segment.Size
		}
		if err != nil || size > s.Size || len(segments) < 3 || status.Lost > 0 {
			t.Errorf("status %+v and %d segments of %d bytes, want several of at most %d bytes and no lost event: %v", status, len(segments), size, s.Size, err)
		}
		checked := 0
		for _, m := range moments {
			if m.at.Before(status.Oldest) {
				continue
			}
			got, want := read(t, s.Dir, m.at, now()), c.sent[m.sent:]
			lists := max(0, len(got)-len(want))
			if state := replay(got[:lists]).Objects; !reflect.DeepEqual(state, m.objects) || !reflect.DeepEqual(got[lists:], want) {
				t.Errorf("from %v: %d objects and %d events after them, want %d and %d", m.at, len(state), len(got)-lists, len(m.objects), len(want))
			}
			checked++
		}
		if checked < 1000/every {
			t.Errorf("checked %d moments: too little is kept", checked)
		}
	})
}

// TestTheSizeIsLimited measures the directory each second while many events arrive.
func TestTheSizeIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := settings(t)
		s.Size = 200_000
		r, stop := run(t, s)
		defer stop()
		c := newCluster(3, r)
		c.list()
		for second := range 60 {
			for range 300 {
				c.changeOf(event.KindPod)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			all, err := flightrecorder.Segments(s.Dir)
			if err != nil {
				t.Fatal(err)
			}
			size := int64(0)
			for _, segment := range all {
				size += segment.Size
			}
			if size > s.Size {
				t.Errorf("after %d seconds, there are %d bytes, want at most %d", second, size, s.Size)
			}
		}
	})
}

// TestAListThatCannotBeWrittenIsTheLast begins to record when another process ends. As on a full disk, the first object of a
// list cannot be written, because it has no name. The API server then need not send the other lists.
func TestAListThatCannotBeWrittenIsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, lists := settings(t), 0
		s.List = func(_ context.Context, _ event.Kind, each func(event.Object)) (string, error) {
			lists++
			each(&event.Node{})
			return "1", nil
		}
		other := flock.New(filepath.Join(s.Dir, "lock"))
		if err := os.MkdirAll(s.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if locked, err := other.TryLock(); !locked || err != nil {
			t.Fatalf("locked %v, %v", locked, err)
		}
		r, stop := run(t, s)
		newCluster(1, r).list()
		time.Sleep(10 * time.Second)
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		stop()
		if status := r.Status(); lists != 1 || status.Recording {
			t.Errorf("%d lists, want 1; %+v", lists, status)
		}
	})
}

func TestAFileIsNoDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := flightrecorder.New(flightrecorder.Settings{Dir: path}, nil)
	if want := "--data.dir=" + path + " is not a directory"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

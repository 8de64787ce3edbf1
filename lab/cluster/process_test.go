package cluster

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := StartProcess("script", filepath.Join(t.TempDir(), "log"), Command{Path: "/bin/sh", Args: []string{"-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func TestDeadProcessShowsTheEndOfItsLog(t *testing.T) {
	p := start(t, "echo bad flag >&2; exit 1")
	<-p.Exited()
	if err := p.Alive(); err == nil || !strings.Contains(err.Error(), "bad flag") {
		t.Errorf("got %v", err)
	}
}

func TestPausedProcessCanBeStopped(t *testing.T) {
	p := start(t, "sleep 60")
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	p.Stop() // a second Stop must do nothing
}

func TestRestartStartsAnew(t *testing.T) {
	p := start(t, "echo started; sleep 60")
	for want := 1; want <= 2; want++ {
		for strings.Count(p.LogTail(), "started") < want {
			time.Sleep(time.Millisecond)
		}
		if err := p.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Alive(); err != nil {
		t.Error(err)
	}
}

func TestAProcessMayTakeItselfToBeOnAnotherMachine(t *testing.T) {
	p, err := StartProcess("script", filepath.Join(t.TempDir(), "log"), Command{Path: "/bin/sh", Args: []string{"-c", `cat /proc/sys/kernel/hostname; echo "$0 $1"`, "a", "b c"}, Host: "server-2"})
	if err != nil {
		t.Fatalf("cannot create a user namespace for the host name: %v", err)
	}
	t.Cleanup(p.Stop)
	<-p.Exited()
	if want := "server-2\na b c"; p.LogTail() != want {
		t.Errorf("got %q, want %q", p.LogTail(), want)
	}
}

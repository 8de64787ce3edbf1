package event

import "testing"

func TestExitOfAContainerQuotesTheAPI(t *testing.T) {
	for _, c := range []struct {
		container Container
		want      string
	}{
		{Container{State: "terminated", Reason: "OOMKilled", ExitCode: 137}, "OOMKilled, exit code 137"},
		{Container{State: "terminated", Reason: "Error", ExitCode: 1, LastReason: "OOMKilled", LastExitCode: 137}, "Error, exit code 1"},
		{Container{State: "running", LastReason: "Completed"}, "Completed"},
		{Container{State: "waiting", Reason: "CrashLoopBackOff", LastReason: "Error", LastExitCode: 2}, "Error, exit code 2"},
		{Container{State: "waiting", Reason: "CrashLoopBackOff", LastExitCode: 2}, "exit code 2"},
		{Container{State: "waiting", Reason: "CrashLoopBackOff"}, ""}, // a recording that lacks the exit
		{Container{State: "running", Restarts: 3}, ""},
		{Container{State: "terminated"}, ""},
	} {
		if got := c.container.Exit(); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.container, got, c.want)
		}
	}
}

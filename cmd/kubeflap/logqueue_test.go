package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// blockedPipe is a pipe whose writes block until it is released.
type blockedPipe struct {
	released chan struct{}
	text     bytes.Buffer
}

func (s *blockedPipe) Write(text []byte) (int, error) {
	<-s.released
	return s.text.Write(text)
}

func TestQueuedLinesStayInOrderAndMarkGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := &blockedPipe{released: make(chan struct{})}
		var out strings.Builder
		log := newLogQueue(pipe, func(dropped int) { fmt.Fprintf(&pipe.text, "%d dropped\n", dropped) })
		for i := range maxQueuedLines + 10 {
			fmt.Fprintf(log, "%d\n", i)
			synctest.Wait() // wait until the first line is being written
		}
		close(pipe.released)
		synctest.Wait()
		fmt.Fprintln(log, "behind")
		log.close()
		for i := range maxQueuedLines + 1 {
			fmt.Fprintf(&out, "%d\n", i)
		}
		out.WriteString("9 dropped\nbehind\n")
		if got := pipe.text.String(); got != out.String() {
			t.Errorf("got ...%q", got[max(0, len(got)-100):])
		}
	})
}

func TestADeadPipeDelaysTheExitForTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := &blockedPipe{released: make(chan struct{})}
		log := newLogQueue(pipe, nil)
		fmt.Fprintln(log, "last words")
		begin := time.Now()
		log.close()
		if took := time.Since(begin); took != flushTimeout {
			t.Errorf("it took %s", took)
		}
		close(pipe.released) // all goroutines must end before the test
	})
}

// TestAClosedQueueDropsNothing checks the queue of replay --once, which logs everything because nothing else waits for the
// log.
func TestAClosedQueueDropsNothing(t *testing.T) {
	var out, want strings.Builder
	log := newLogQueue(&out, nil)
	fmt.Fprintln(&want, "queued")
	fmt.Fprintln(log, "queued")
	log.close()
	for i := range 3 * maxQueuedLines {
		fmt.Fprintln(&want, i)
		fmt.Fprintln(log, i)
	}
	if log.close(); out.String() != want.String() {
		t.Errorf("got %d bytes, want %d", out.Len(), want.Len())
	}
}

// TestTheErrorComesAfterTheLog checks that the error is printed after the complete log.
func TestTheErrorComesAfterTheLog(t *testing.T) {
	status, _, errOut := kubeflap(t, "replay", "--once", damaged(t, 50))
	all := strings.Split(strings.TrimSpace(errOut), "\n")
	if status != 1 || len(all) < 2 || !strings.HasPrefix(all[len(all)-1], "kubeflap: ") || !strings.HasPrefix(all[0], "time=") {
		t.Errorf("status %d:\n%s", status, errOut)
	}
}

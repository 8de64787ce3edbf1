package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startTimeout is long, because the machine may be busy.
const startTimeout = 3 * time.Minute

// freeAddress returns an unused address on loopback. Its port is below the range that the kernel uses for clients.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 1000 {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000)))
		if err == nil {
			defer listener.Close()
			return listener.Addr().String()
		}
	}
	t.Fatal("no free port")
	return ""
}

// process is a running program. Its binary is in bin/.
type process struct {
	t       *testing.T
	name    string
	command *exec.Cmd
	log     string
	exited  chan struct{}
}

// start runs a program and writes its output to a file.
func start(t *testing.T, name, program string, args ...string) *process {
	t.Helper()
	path, err := filepath.Abs(root + "/bin/" + program)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, name: name, log: filepath.Join(t.TempDir(), "log"), exited: make(chan struct{})}
	file, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	p.command = exec.Command(path, args...)
	p.command.Stdout, p.command.Stderr = file, file
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		defer file.Close()
		// The kernel sends the death signal when the thread that started the process exits. So this thread must live as
		// long as the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.command.Start()
		started <- err
		if err == nil {
			_ = p.command.Wait() // a signal ends it
		}
		close(p.exited)
	}()
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(p.stop)
	return p
}

func (p *process) stop() {
	_ = p.command.Process.Kill() // it may have exited already
	<-p.exited
}

// until waits until check returns nil. It fails the test if the process exits or the timeout is over.
func (p *process) until(what string, timeout time.Duration, check func() error) {
	p.t.Helper()
	end := time.Now().Add(timeout)
	for {
		err := check()
		switch {
		case err == nil:
			return
		case time.Now().After(end):
			p.t.Fatalf("%s: timeout of %s waiting for %s: %v\n%s", p.name, timeout, what, err, p.tail())
		}
		select {
		case <-p.exited:
			p.t.Fatalf("%s has exited:\n%s", p.name, p.tail())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (p *process) ready(address string) {
	p.t.Helper()
	p.until("being ready", startTimeout, func() error { return get("http://"+address+"/-/ready", nil) })
}

func (p *process) tail() string {
	lines := strings.Split(strings.TrimSpace(read(p.t, p.log)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// get decodes a JSON response into answer. If answer is nil, it only checks that the request succeeds.
func get(address string, answer any) error {
	body, err := fetch(address)
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(body, answer)
}

// fetch returns the body of a response.
func fetch(address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.300s", address, response.Status, body)
	}
	return body, err
}

// query runs an instant query, and returns the labels of the resulting series.
func query(address, expr string) (series []map[string]string, err error) {
	var answer struct {
		Warnings []string
		Data     struct {
			Result []struct{ Metric map[string]string }
		}
	}
	err = get("http://"+address+"/api/v1/query?query="+url.QueryEscape(expr), &answer)
	if err == nil && len(answer.Warnings) > 0 {
		err = fmt.Errorf("%s: %q", expr, answer.Warnings)
	}
	for _, result := range answer.Data.Result {
		series = append(series, result.Metric)
	}
	return series, err
}

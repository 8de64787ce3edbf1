package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// Process is a component that the lab starts, pauses, restarts and stops. Its output goes to a file.
type Process struct {
	// Name is the component's name in error messages.
	Name string
	// LogPath is the path of the file with the component's output.
	LogPath string

	Command

	mu     sync.Mutex
	pid    int
	exited chan struct{}
}

// Command describes a program for StartProcess.
type Command struct {
	// Path is the path of the program. Args are its arguments, without the program name.
	Path string
	Args []string
	// Env holds environment variables in addition to those of the lab.
	Env []string
	// Nice is the niceness of the program, relative to the lab's own niceness.
	Nice int
}

// StartProcess starts a command, and writes its output to the file logPath.
func StartProcess(name, logPath string, c Command) *Process {
	p := &Process{Name: name, LogPath: logPath, Command: c}
	p.start()
	return p
}

func (p *Process) start() {
	log := steps.Value(os.OpenFile(p.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600))
	cmd := p.command()
	cmd.Stdout, cmd.Stderr = log, log

	started, exited := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(exited)
		defer log.Close()
		// The kernel sends the death signal when the thread that started the process exits. Therefore, this thread must
		// live as long as the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	steps.Must(<-started)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid, p.exited = cmd.Process.Pid, exited
}

func (c *Command) command() *exec.Cmd {
	args := append([]string{c.Path}, c.Args...)
	if c.Nice != 0 {
		args = append([]string{"nice", "-n", strconv.Itoa(c.Nice)}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), c.Env...)
	// A process in its own process group does not receive Ctrl-C. The lab can then stop all processes in order. If the
	// lab is killed, the death signal stops the process.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// PID returns the process ID. A restart changes it.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// Pause stops the process with SIGSTOP, to simulate a machine that is overloaded.
func (p *Process) Pause() { steps.Must(p.Signal(syscall.SIGSTOP)) }

// Resume continues a paused process with SIGCONT.
func (p *Process) Resume() { steps.Must(p.Signal(syscall.SIGCONT)) }

// Terminate sends SIGTERM, and waits until the process has exited or the context ends.
func (p *Process) Terminate(ctx context.Context) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.Exited():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("terminate %s: %w", p.Name, ctx.Err())
	}
}

// Stop kills the process and its children.
func (p *Process) Stop() {
	p.mu.Lock()
	pid, exited := p.pid, p.exited
	p.mu.Unlock()
	select {
	case <-exited:
	default:
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		<-exited
	}
}

// Restart kills the process, and starts it again with the same arguments.
func (p *Process) Restart() {
	p.Stop()
	p.start()
}

// Exited returns a channel that is closed when the process has exited.
func (p *Process) Exited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exited
}

// Alive returns nil if the process is running. Otherwise, the error includes the end of the process's log.
func (p *Process) Alive() error {
	select {
	case <-p.Exited():
		return fmt.Errorf("%s has exited; its log %s ends with:\n%s", p.Name, p.LogPath, p.LogTail())
	default:
		return nil
	}
}

// Until calls the function check repeatedly until check returns nil. It gives up after the timeout, or if the process
// has exited.
func (p *Process) Until(ctx context.Context, timeout time.Duration, what string, check func(context.Context) error) error {
	err := untilAlive(ctx, timeout, what, p.Alive, check)
	if err != nil && p.Alive() == nil {
		err = fmt.Errorf("%w\nthe log of %s ends with:\n%s", err, p.Name, p.LogTail())
	}
	return err
}

// untilAlive is like poll.Until, but gives up when the function alive returns an error.
func untilAlive(ctx context.Context, timeout time.Duration, what string, alive func() error, check func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := poll.Until(ctx, timeout, what, func(ctx context.Context) error {
		err := check(ctx)
		if alive() != nil {
			cancel()
		}
		return err
	})
	if err != nil {
		err = errors.Join(alive(), err)
	}
	return err
}

// LogTail returns the last 15 lines of the process's output.
func (p *Process) LogTail() string {
	const lines = 15
	data, err := os.ReadFile(p.LogPath)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}

// Signal sends a signal to the process and its group, unless the process has exited.
func (p *Process) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.exited: // after the exit, another process may have this PID
		return nil
	default:
	}
	if err := syscall.Kill(-p.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to %s: %w", s, p.Name, err)
	}
	return nil
}

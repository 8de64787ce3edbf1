package browser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// All tests share one binary, one browser and the servers that several tests look at. They exist until the last test
// has ended.
var (
	shared    context.Context
	directory string
	processes sync.WaitGroup
)

func TestMain(m *testing.M) { os.Exit(withShared(m)) }

func withShared(m *testing.M) int {
	var err error
	if directory, err = os.MkdirTemp("", "kubeflap-browser"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var stop context.CancelFunc
	shared, stop = context.WithCancel(context.Background())
	defer func() {
		stop()
		processes.Wait()
		_ = os.RemoveAll(directory) // it is a temporary directory
	}()
	return m.Run()
}

// built builds kubeflap and returns its path.
var built = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(directory, "kubeflap")
	build := exec.CommandContext(shared, "go", "build", "-o", binary, "./cmd/kubeflap")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build kubeflap: %w\n%s", err, out)
	}
	return binary, nil
})

// browser starts Chromium.
var browser = sync.OnceValues(func() (context.Context, error) {
	path, err := chromium()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.WSURLReadTimeout(time.Minute), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	allocator, stop := chromedp.NewExecAllocator(shared, options...)
	ctx, _ := chromedp.NewContext(allocator) // the tab closes with the browser
	processes.Go(func() {
		<-shared.Done()
		stop() // it waits until the browser has ended
	})
	return ctx, chromedp.Run(ctx)
})

// chromium returns the path of the browser. Without a browser, the error says how to install one.
func chromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("Chromium not found: install it (apt-get install chromium) and run make browser-test again")
}

var listening = regexp.MustCompile(`address=(127\.0\.0\.1:[0-9]+)`)

// replayed replays recordings and returns kubeflap's URL when it has replayed them all. It serves until the last test has ended.
func replayed(files ...string) (string, error) {
	binary, err := built()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(shared, binary, append([]string{"replay", "--web.listen-address=127.0.0.1:0", "--speed=1e6"}, files...)...)
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", err
	}
	complete := make(chan string, 1)
	processes.Go(func() {
		defer close(complete)
		base, lines := "", bufio.NewScanner(log)
		lines.Buffer(nil, 16<<20) // hostile names make long lines
		for lines.Scan() {
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				base = "http://" + found[1]
			}
			if strings.Contains(lines.Text(), "replay complete") {
				complete <- base // the replay begins once it listens
			}
		}
		_ = cmd.Wait() // shared kills it
	})
	select {
	case base, ok := <-complete:
		if !ok {
			return "", fmt.Errorf("kubeflap replay %q has ended", files)
		}
		return base, nil
	case <-time.After(3 * time.Minute):
		return "", fmt.Errorf("kubeflap has not replayed %q within 3 minutes", files)
	}
}

// incidents returns the URL of a kubeflap that has replayed the recordings of the demo.
var incidents = sync.OnceValues(func() (string, error) {
	files, err := filepath.Glob("../../exporter/recording/incidents/*.jsonl.gz")
	if err != nil {
		return "", err
	}
	return replayed(files...)
})

// blind returns the URL of a kubeflap that has replayed many incidents, and whose watches are broken at the end.
var blind = sync.OnceValues(func() (string, error) {
	file, err := recorded("blind", crashes, blinded)
	if err != nil {
		return "", err
	}
	return replayed(file)
})

// try returns x, unless err fails the test.
func try[T any](x T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return x
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

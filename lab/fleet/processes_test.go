//go:build fleet

package fleet

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	lab "github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/fetch"
)

// startTimeout is long, because the machine may be busy.
const startTimeout = 3 * time.Minute

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := lab.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// start runs a program in bin/.
func start(t *testing.T, name, program string, args ...string) *lab.Process {
	t.Helper()
	path, err := filepath.Abs(root + "/bin/" + program)
	if err != nil {
		t.Fatal(err)
	}
	p, err := lab.StartProcess(name, filepath.Join(t.TempDir(), "log"), lab.Command{Path: path, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// until waits until check returns nil. It fails the test if the process exits or the timeout is over.
func until(t *testing.T, p *lab.Process, what string, timeout time.Duration, check func(context.Context) error) {
	t.Helper()
	if err := p.Until(t.Context(), timeout, what, check); err != nil {
		t.Fatal(err)
	}
}

func ready(t *testing.T, p *lab.Process, address string) {
	t.Helper()
	until(t, p, p.Name+" to be ready", startTimeout, func(ctx context.Context) error {
		_, err := fetch.Body(ctx, "http://"+address+"/-/ready")
		return err
	})
}

// query runs an instant query, and returns the labels of the resulting series.
func query(ctx context.Context, address, expr string) (series []map[string]string, err error) {
	var answer struct {
		Warnings []string
		Data     struct {
			Result []struct{ Metric map[string]string }
		}
	}
	err = fetch.JSON(ctx, "http://"+address+"/api/v1/query?query="+url.QueryEscape(expr), &answer)
	if err == nil && len(answer.Warnings) > 0 {
		err = fmt.Errorf("%s: %q", expr, answer.Warnings)
	}
	for _, result := range answer.Data.Result {
		series = append(series, result.Metric)
	}
	return series, err
}

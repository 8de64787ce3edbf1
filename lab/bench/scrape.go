package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/kubeflap/kubeflap/lab/fetch"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// scraper is a process that measures the duration of scrapes.
type scraper struct {
	process *exec.Cmd
	ask     io.WriteCloser
	answers *bufio.Reader
}

// startScraper builds and starts the scraper. The caller must call stop.
func startScraper(ctx context.Context, dir string) *scraper {
	s := &scraper{process: exec.CommandContext(ctx, buildTool(ctx, dir, "scraper"))}
	s.process.Stderr = os.Stderr
	s.answers = bufio.NewReader(steps.Value(s.process.StdoutPipe()))
	s.ask = steps.Value(s.process.StdinPipe())
	steps.Must(s.process.Start())
	return s
}

func (s *scraper) stop() {
	_ = s.ask.Close()    // the scraper exits when its input ends
	_ = s.process.Wait() // the method scrape has already returned any error
}

// scrape reads all metrics of a program. It returns how long this took, and the size of the response.
func (s *scraper) scrape(r *running) (took time.Duration, bytes int64) {
	steps.Value(fmt.Fprintln(s.ask, r.url+"/metrics"))
	if _, err := fmt.Fscanln(s.answers, (*int64)(&took), &bytes); err != nil {
		steps.Must(fmt.Errorf("scrape %s: %w", r.name, err))
	}
	return took, bytes
}

// eachLine calls the function do with each line of the response from url. To measure the duration of a scrape, use the
// scraper instead.
func (r *running) eachLine(ctx context.Context, url string, do func(line []byte)) error {
	body, err := fetch.Body(ctx, url)
	for line := range bytes.Lines(body) {
		do(bytes.TrimSuffix(line, []byte("\n")))
	}
	return err
}

func (r *running) series(ctx context.Context) (n float64) {
	steps.Must(r.eachLine(ctx, r.url+"/metrics", func(line []byte) {
		if len(line) > 0 && line[0] != '#' {
			n++
		}
	}))
	return n
}

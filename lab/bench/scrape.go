package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"
)

// reader is an HTTP client for metrics. To measure the duration of a scrape, use the scraper instead.
var reader = &http.Client{}

func get(ctx context.Context, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("scrape %s: %w", url, err)
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	response, err := reader.Do(request)
	if err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("scrape %s: %s", url, response.Status)
	}
	return response.Body, nil
}

// scraper is a process that measures the duration of scrapes.
type scraper struct {
	process *exec.Cmd
	ask     io.WriteCloser
	answers *bufio.Reader
}

// startScraper builds and starts the scraper. The caller must call stop.
func startScraper(ctx context.Context, dir string) (*scraper, error) {
	path, err := buildTool(ctx, dir, "scraper")
	if err != nil {
		return nil, err
	}
	s := &scraper{process: exec.CommandContext(ctx, path)}
	s.process.Stderr = os.Stderr
	answers, err := s.process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the scraper: %w", err)
	}
	s.answers = bufio.NewReader(answers)
	if s.ask, err = s.process.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the scraper: %w", err)
	}
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("start the scraper: %w", err)
	}
	return s, nil
}

func (s *scraper) stop() {
	_ = s.ask.Close()    // the scraper exits when its input ends
	_ = s.process.Wait() // the method scrape has already returned any error
}

// scrape reads all metrics of a program. It returns how long this took, and the size of the response.
func (s *scraper) scrape(r *running, encoding string) (took time.Duration, bytes int64, err error) {
	if _, err := fmt.Fprintln(s.ask, r.url+"/metrics", encoding); err != nil {
		return 0, 0, fmt.Errorf("send a request to the scraper: %w", err)
	}
	if _, err := fmt.Fscanln(s.answers, (*int64)(&took), &bytes); err != nil {
		return 0, 0, fmt.Errorf("scrape %s: %w", r.name, err)
	}
	return took, bytes, nil
}

// eachLine calls the function do with each line of the response from url.
func (r *running) eachLine(ctx context.Context, url string, do func(line []byte)) error {
	body, err := get(ctx, url)
	if err != nil {
		return err
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		do(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("scrape %s: %w", r.name, err)
	}
	return nil
}

func (r *running) series(ctx context.Context) (n int, err error) {
	err = r.eachLine(ctx, r.url+"/metrics", func(line []byte) {
		if len(line) > 0 && line[0] != '#' {
			n++
		}
	})
	return n, err
}

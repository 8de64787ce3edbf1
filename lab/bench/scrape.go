package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// scraper asks as Prometheus does: over one connection, and it does not unpack what it gets, which would be time of its own.
var scraper = &http.Client{Transport: &http.Transport{DisableCompression: true}}

func get(ctx context.Context, url string, gzip bool) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("scrape %s: %w", url, err)
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	if gzip {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	response, err := scraper.Do(request)
	if err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	if encoding := response.Header.Get("Content-Encoding"); response.StatusCode != http.StatusOK || (encoding == "gzip") != gzip {
		_ = response.Body.Close()
		return nil, fmt.Errorf("scrape %s: %s, encoding %q", url, response.Status, encoding)
	}
	return response.Body, nil
}

// scrape reads the metrics once, to the last byte.
func (r *running) scrape(ctx context.Context, gzip bool) (took time.Duration, bytes int64, err error) {
	begin := time.Now()
	body, err := get(ctx, r.url+"/metrics", gzip)
	if err != nil {
		return 0, 0, err
	}
	defer body.Close()
	if bytes, err = io.Copy(io.Discard, body); err != nil {
		return 0, 0, fmt.Errorf("scrape %s: %w", r.name, err)
	}
	return time.Since(begin), bytes, nil
}

// eachLine reads metrics line by line.
func (r *running) eachLine(ctx context.Context, url string, do func(line []byte)) error {
	body, err := get(ctx, url, false)
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

// series counts the series of a scrape.
func (r *running) series(ctx context.Context) (n int, err error) {
	err = r.eachLine(ctx, r.url+"/metrics", func(line []byte) {
		if len(line) > 0 && line[0] != '#' {
			n++
		}
	})
	return n, err
}

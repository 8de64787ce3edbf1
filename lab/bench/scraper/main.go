// Command scraper scrapes metrics as Prometheus does, over one connection and without decompressing responses.
//
// It is a separate process, so that the benchmark does not delay the scrapes. Each line of the input consists of a URL,
// a space and an encoding. The encoding is gzip or empty. For each line, the scraper prints the number of nanoseconds
// from the request to the last byte, and the number of bytes.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: time.Minute}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		url, encoding, _ := strings.Cut(lines.Text(), " ")
		took, bytes, err := scrape(client, url, encoding)
		if err != nil {
			fmt.Fprintf(os.Stderr, "scrape %s: %v\n", url, err)
			os.Exit(1)
		}
		fmt.Println(took.Nanoseconds(), bytes)
	}
}

func scrape(client *http.Client, url, encoding string) (took time.Duration, bytes int64, err error) {
	request, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	if encoding != "" {
		request.Header.Set("Accept-Encoding", encoding)
	}
	begin := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	if got := response.Header.Get("Content-Encoding"); response.StatusCode != http.StatusOK || got != encoding {
		return 0, 0, fmt.Errorf("%s, encoding %q", response.Status, got)
	}
	bytes, err = io.Copy(io.Discard, response.Body)
	return time.Since(begin), bytes, err
}

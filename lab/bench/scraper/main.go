// Command scraper scrapes metrics as Prometheus does, over one connection and without decompressing responses.
//
// It is a separate process, so that the benchmark does not delay the scrapes. Each line of the input is a URL. For each
// line, the scraper prints the number of nanoseconds from the request to the last byte, and the number of bytes.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: time.Minute}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		took, bytes, err := scrape(client, lines.Text())
		if err != nil {
			fmt.Fprintf(os.Stderr, "scrape %s: %v\n", lines.Text(), err)
			os.Exit(1)
		}
		fmt.Println(took.Nanoseconds(), bytes)
	}
}

func scrape(client *http.Client, url string) (took time.Duration, bytes int64, err error) {
	request, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	begin := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, 0, errors.New(response.Status)
	}
	bytes, err = io.Copy(io.Discard, response.Body)
	return time.Since(begin), bytes, err
}

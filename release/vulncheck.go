package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"
)

// vulncheck runs govulncheck on the module of the working directory. A finding is an error, and so is whatever else
// it complains about; only that the database is out of reach is none, unless the check is required.
func vulncheck(ctx context.Context, out io.Writer, binary, database string, required bool) error {
	modified, err := reach(ctx, database)
	switch {
	case err != nil && required:
		return fmt.Errorf("vulncheck is required, and its database %s cannot be reached: %w", database, err)
	case err != nil:
		fmt.Fprintf(out, "vulncheck: NOT CHECKED: database %s cannot be reached: %v\n", database, err)
		return nil
	case modified != "":
		fmt.Fprintf(out, "vulncheck: database %s of %s\n", database, modified)
	}
	cmd := exec.CommandContext(ctx, binary, "-db", database, "./...")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("vulncheck: %w", err)
	}
	return nil
}

// reach asks a database on the net for its date. One in files is govulncheck's to read.
func reach(ctx context.Context, database string) (modified string, err error) {
	at, err := url.Parse(database)
	if err != nil || !strings.HasPrefix(at.Scheme, "http") {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.JoinPath("index/db.json.gz").String(), http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", request.URL, response.Status)
	}
	unpacked, err := gzip.NewReader(response.Body)
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", request.URL, err)
	}
	var about struct {
		Modified string `json:"modified"`
	}
	if err := json.NewDecoder(unpacked).Decode(&about); err != nil {
		return "", fmt.Errorf("read %s: %w", request.URL, err)
	}
	return about.Modified, nil
}

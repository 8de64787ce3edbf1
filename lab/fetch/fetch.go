// Package fetch sends requests to the HTTP servers that the lab runs.
package fetch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Body returns the body of a response. If the status is not 200, the error contains the status and the body.
func Body(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", response.Status, body)
	}
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", url, err)
	}
	return body, nil
}

// JSON decodes the body of a response.
func JSON(ctx context.Context, url string, answer any) error {
	body, err := Body(ctx, url)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("decode the response of %s: %w", url, err)
	}
	return nil
}

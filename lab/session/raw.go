package session

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kubeflap/kubeflap/lab/rawwatch"
)

// rawRecording records the bytes of the watches. A nil rawRecording records nothing.
type rawRecording struct {
	*rawwatch.Recorder
	file *os.File
	zip  *gzip.Writer
}

// startRaw starts to record the bytes of the watches, if the option Raw is set.
func (s *Session) startRaw(ctx context.Context) error {
	if s.options.Raw == "" {
		return nil
	}
	file, err := os.Create(s.options.Raw)
	if err != nil {
		return fmt.Errorf("record the watches: %w", err)
	}
	raw := &rawRecording{file: file, zip: gzip.NewWriter(file)}
	if raw.Recorder, err = rawwatch.New(s.Cluster.Config, raw.zip); err != nil {
		return err
	}
	s.raw = raw
	return raw.begin(ctx)
}

func (r *rawRecording) begin(ctx context.Context) error {
	if r == nil {
		return nil
	}
	return r.Begin(ctx)
}

func (r *rawRecording) breakWatches() {
	if r != nil {
		r.Break()
	}
}

func (r *rawRecording) end() error {
	if r == nil {
		return nil
	}
	return errors.Join(r.End(), r.zip.Close(), r.file.Close())
}

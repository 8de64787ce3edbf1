package session

import (
	"compress/gzip"
	"context"
	"errors"
	"os"

	"github.com/kubeflap/kubeflap/lab/rawwatch"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// rawRecording records the bytes of the watches. A nil rawRecording records nothing.
type rawRecording struct {
	*rawwatch.Recorder
	file *os.File
	zip  *gzip.Writer
}

// startRaw starts to record the bytes of the watches, if the option Raw is set.
func (s *Session) startRaw() {
	if s.options.Raw == "" {
		return
	}
	file := steps.Value(os.Create(s.options.Raw))
	zip := gzip.NewWriter(file)
	recorder := steps.Value(rawwatch.New(s.Cluster.Config, zip))
	s.raw = &rawRecording{recorder, file, zip}
	s.Must(s.raw.begin(s.Ctx))
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

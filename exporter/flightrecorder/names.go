package flightrecorder

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/recording"
)

// RenamedError is returned for a period in which the names in the recordings change, because --data.anonymise or the
// key of the pseudonyms was changed. The same object has different names before and after the change, so the two parts
// must be read separately.
type RenamedError struct{ At time.Time }

// Error implements error.
func (e *RenamedError) Error() string {
	before := e.At.UTC().Truncate(time.Second)
	return fmt.Sprintf("%s: select a period that ends at %s, or one that begins at %s", e.Reason(), before.Format(time.RFC3339), before.Add(time.Second).Format(time.RFC3339))
}

// Reason returns the error without advice, for readers who cannot select a period.
func (e *RenamedError) Reason() string {
	return fmt.Sprintf("the names in the recordings change at %s, because --data.anonymise or the key of the pseudonyms changed", e.At.UTC().Format(time.RFC3339Nano))
}

// names describes the names in a file: real ones, or a set of pseudonyms.
type names struct {
	anonymised bool
	set        string
}

// namesIn returns the kind of names that the files contain: real names, or one set of pseudonyms. If the files do not
// all contain the same kind, namesIn returns a RenamedError. It ignores files without a readable header, because none
// of their events can be read.
func namesIn(all []part) (found names, err error) {
	process, known := "", false
	for _, f := range all {
		if f.role == roleStart {
			process = f.path
		}
		r, err := recording.Open(f.path)
		if err != nil {
			continue
		}
		_ = r.Close() // the file was only read
		n := names{r.Header().Anonymised, r.Header().Pseudonyms}
		if n.anonymised && n.set == "" {
			n.set = process // an older kubeflap: each process had its own pseudonyms
		}
		if known && n != found {
			return names{}, &RenamedError{f.begins}
		}
		found, known = n, true
	}
	return found, nil
}

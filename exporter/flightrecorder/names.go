package flightrecorder

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/recording"
)

// RenamedError is returned for a period in which the names in the recordings change. This happens if --data.anonymise
// or the key of the pseudonyms was changed. The parts before and after the change must be read separately, because they
// have different names for the same object.
type RenamedError struct{ At time.Time }

// Error implements error.
func (e *RenamedError) Error() string {
	before := e.At.UTC().Truncate(time.Second)
	return fmt.Sprintf("%s: select a period that ends at %s, or one that begins at %s", e.Reason(), before.Format(time.RFC3339), before.Add(time.Second).Format(time.RFC3339))
}

// Reason returns the error without the advice to select another period.
func (e *RenamedError) Reason() string {
	return fmt.Sprintf("the names in the recordings change at %s, because --data.anonymise or the key of the pseudonyms changed", e.At.UTC().Format(time.RFC3339Nano))
}

// names describes whether a file contains real names or pseudonyms. The field set identifies the set of pseudonyms.
type names struct {
	anonymised bool
	set        string
}

// namesIn returns the kind of names in the files. It returns a RenamedError if not all files contain the same kind. It
// ignores files without a readable header, because their events cannot be read either.
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
			n.set = process // in older versions, each process had its own pseudonyms
		}
		if known && n != found {
			return names{}, &RenamedError{f.begins}
		}
		found, known = n, true
	}
	return found, nil
}

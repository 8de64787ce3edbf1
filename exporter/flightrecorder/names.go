package flightrecorder

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/recording"
)

// RenamedError is returned if the names in the recordings change within the requested period. This happens after a
// change of --data.anonymise or of the pseudonym key. The recordings before and after the change must be read
// separately, because they contain different names for the same object.
type RenamedError struct{ At time.Time }

// Error implements error.
func (e *RenamedError) Error() string {
	before := e.At.UTC().Truncate(time.Second)
	return fmt.Sprintf("%s: select a period that ends at %s, or one that begins at %s", e.Reason(), before.Format(time.RFC3339), before.Add(time.Second).Format(time.RFC3339))
}

// Reason returns the error without the advice to select another period.
func (e *RenamedError) Reason() string {
	return fmt.Sprintf("the names in the recordings change at %s, because --data.anonymise or the pseudonym key changed", e.At.UTC().Format(time.RFC3339Nano))
}

// The type names describes whether a file contains real names or pseudonyms. Files with the same value of set use the
// same pseudonyms.
type names struct {
	anonymised bool
	set        string
}

// namesIn returns the kind of names in the files. It returns a RenamedError if the kinds differ. It ignores files with
// an unreadable header, because their events cannot be read either.
func namesIn(all []part) (found names, err error) {
	known := false
	for _, f := range all {
		r, err := recording.Open(f.path)
		if err != nil {
			continue
		}
		_ = r.Close() // the file was only read
		n := names{r.Header().Anonymised, r.Header().Pseudonyms}
		if known && n != found {
			return names{}, &RenamedError{f.begins}
		}
		found, known = n, true
	}
	return found, nil
}

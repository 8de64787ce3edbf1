package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// SetAside renames the file with the resolved incidents, because they are of another cluster. The new name contains the
// given time.
func SetAside(dir string, now time.Time) error {
	path := filepath.Join(dir, fileName)
	err := os.Rename(path, path+"."+now.UTC().Format("20060102T150405Z"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set aside the incidents of another cluster: %w", err)
	}
	return nil
}

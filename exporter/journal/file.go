package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// store writes text to a file and waits for the disk. It replaces the file if whole is set. Otherwise, it appends to the
// file. It opens the file each time, because somebody may have deleted it.
func store(path string, text []byte, whole bool) error {
	to, mode := path, os.O_APPEND
	if whole {
		to, mode = path+".tmp", os.O_TRUNC
	}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	var file *os.File
	if err == nil {
		file, err = os.OpenFile(to, os.O_WRONLY|os.O_CREATE|mode, 0o600)
	}
	if err == nil {
		_, err = file.Write(text)
		if err == nil {
			err = file.Sync()
		}
		err = errors.Join(err, file.Close())
	}
	if err == nil && whole {
		err = os.Rename(to, path)
	}
	if err != nil && whole {
		_ = os.Remove(to) // a partial file would fill the disk
	}
	return err
}

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

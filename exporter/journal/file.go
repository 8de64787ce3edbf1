package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// trimAbove is the size in bytes above which the file is trimmed. It is then at least half as large as it may become
// before the next time.
const trimAbove = 16 << 20

// appendTo appends text to a file, waits for the disk, and returns the size of the file. It opens the file each time,
// because somebody may have deleted it.
func appendTo(path string, text []byte) (size int64, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return 0, err //nolint:wrapcheck // Journal.write wraps it
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err //nolint:wrapcheck // Journal.write wraps it
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		size, err = file.Seek(0, io.SeekEnd)
	}
	return size, errors.Join(err, file.Close())
}

// trim keeps the newest lines of a file, at most half of trimAbove bytes.
func trim(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("trim the saved incidents: %w", err)
	}
	text = text[max(0, len(text)-trimAbove/2):]
	text = text[bytes.IndexByte(text, '\n')+1:] // the first line may be incomplete
	temporary := path + ".tmp"
	err = os.WriteFile(temporary, text, 0o600)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary) // a partial file would fill the disk
		return fmt.Errorf("trim the saved incidents: %w", err)
	}
	return nil
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

package flightrecorder

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// keyName is the name of the file that contains the pseudonym key. With this key, anybody can test whether
	// a pseudonym stands for a certain name.
	keyName = "pseudonyms.key"
	// keySize is the size of the key in bytes. The file contains the key as hexadecimal digits. A file of NUL bytes,
	// which a power failure can leave behind, is therefore invalid.
	keySize = 32
)

var errBadKey = errors.New("the pseudonym key is damaged")

func readKey(dir string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, keyName))
	if err != nil {
		return nil, fmt.Errorf("read the pseudonym key: %w", err)
	}
	key, err := hex.DecodeString(string(text))
	if err != nil || len(key) != keySize {
		return nil, errBadKey
	}
	return key, nil
}

// key returns the key in the directory. It creates a missing key and replaces a damaged key. The directory must be
// locked.
func (r *Recorder) key() ([]byte, error) {
	key, err := readKey(r.settings.Dir)
	damaged := errors.Is(err, errBadKey)
	if !damaged && !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, keySize)
	_, _ = rand.Read(key) // rand.Read never returns an error
	if err := writeKey(r.settings.Dir, key); err != nil {
		return nil, err
	}
	if damaged {
		r.log.Warn("the pseudonym key was damaged and has been replaced, so the pseudonyms have changed", "file", filepath.Join(r.settings.Dir, keyName))
	}
	return key, nil
}

// writeKey writes a key atomically and waits for the disk. If the key were lost in a crash, all pseudonyms would
// change.
func writeKey(dir string, key []byte) error {
	path := filepath.Join(dir, keyName)
	file, err := os.OpenFile(path+temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create the pseudonym key: %w", err)
	}
	_, err = file.WriteString(hex.EncodeToString(key))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(path+temporary, path)
	}
	if err != nil {
		_ = os.Remove(path + temporary) // the next attempt creates it again
		return fmt.Errorf("write the pseudonym key: %w", err)
	}
	return nil
}

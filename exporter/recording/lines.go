package recording

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// lines reads a recording line by line. The recording may be compressed.
type lines struct {
	in *bufio.Scanner
	// number is the number of the current line. The header is line 1.
	number int
	// unended is set if the file does not end with a newline. If its last line is also invalid JSON, the recording is
	// truncated.
	unended bool
}

// newLines detects compression from the first bytes, because the file may have any name.
func newLines(in io.Reader) (*lines, error) {
	const size = 64 << 10
	buffered := bufio.NewReaderSize(in, size)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, stripPath(err)
	}
	in = buffered
	if string(magic) == "\x1f\x8b" {
		if in, err = gzip.NewReader(buffered); err != nil {
			return nil, unreadable(err)
		}
	}
	l := &lines{in: bufio.NewScanner(in)}
	l.in.Buffer(make([]byte, size), maxLine)
	l.in.Split(func(data []byte, atEnd bool) (int, []byte, error) {
		n := bytes.IndexByte(data, '\n') + 1
		if n == 0 && atEnd {
			n = len(data)
		}
		if n == 0 {
			return 0, nil, nil
		}
		return n, data[:n], nil
	})
	return l, nil
}

// next returns the next line. The line is valid until the next call.
func (l *lines) next() ([]byte, error) {
	l.number++
	if l.in.Scan() {
		text := l.in.Bytes()
		l.unended = !bytes.HasSuffix(text, []byte{'\n'})
		if !l.unended || !l.in.Scan() && l.in.Err() == nil { // after an unended line, there may be an error
			return text, nil
		}
	}
	switch err := l.in.Err(); {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		return nil, errTooLong
	default:
		return nil, unreadable(err)
	}
}

func unreadable(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrCutShort
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return fmt.Errorf("the compressed data is damaged: %w", err)
	}
	return stripPath(err)
}

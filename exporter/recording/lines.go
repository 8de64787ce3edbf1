package recording

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// lines reads a recording line by line. The recording may be compressed.
type lines struct {
	in *bufio.Reader
	// number is the number of the current line. The header is line 1.
	number int
	// unended is set if the file does not end with a newline. If its last line is also invalid JSON, the recording is
	// truncated.
	unended bool
	buf     []byte
}

// newLines detects compression from the first bytes, because the file may have any name.
func newLines(in io.Reader) (*lines, error) {
	const size = 64 << 10
	buffered := bufio.NewReaderSize(in, size)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, stripPath(err)
	}
	if string(magic) != "\x1f\x8b" {
		return &lines{in: buffered}, nil
	}
	unzipped, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, unreadable(err)
	}
	return &lines{in: bufio.NewReaderSize(unzipped, size)}, nil
}

// next returns the next line. The line is valid until the next call.
func (l *lines) next() ([]byte, error) {
	l.number++
	l.buf = l.buf[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		if len(l.buf)+len(part) > maxLine {
			return nil, errTooLong
		}
		if err == nil && len(l.buf) == 0 {
			return part, nil
		}
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case !errors.Is(err, io.EOF):
			return nil, unreadable(err)
		case len(l.buf) == 0:
			return nil, io.EOF
		}
		l.unended = true
		return l.buf, nil
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

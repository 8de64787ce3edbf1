package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/archive"
)

// header is the first line of the file. It distinguishes a new file from a file that has lost its incidents.
type header struct {
	Displaced incident.Displaced `json:"displaced"`
	LostUntil time.Time          `json:"lost_until,omitzero"`
}

// line holds the position of a saved incident in the file, and the facts that decide whether to keep the incident.
type line struct {
	// offset is the position of the first byte. length excludes the newline at the end.
	offset, length int64
	id             string
	also           []string
	// ended is set if the incident had ended. It is also set if newer incidents had displaced it.
	ended bool
	// start is the start of the incident. until is the end of the incident or, if it is ongoing, the time at which it
	// was saved.
	start, until time.Time
}

func lineOf(s *archive.Saved, offset, length int64) line {
	x := &s.Incident
	until := x.End
	if until.IsZero() {
		until = s.Time
	}
	ended := x.State == incident.StateEnded || x.IsDisplaced()
	return line{offset, length, x.ID, x.Also, ended, x.Start, until}
}

// lines holds the newest line of each incident, by ID.
type lines map[string]line

// newest returns at most size lines, sorted by the start of their incidents. If there are more lines, it drops ended
// incidents first and then ongoing incidents, starting with the oldest, as in record.Store. It also counts the dropped
// lines.
func (l lines) newest(size int) (kept []line, dropped incident.Displaced) {
	merged := map[string]bool{}
	// Find the merged incidents first. The line of a merged incident can be before or after the line of the incident
	// that it was merged into.
	for _, x := range l {
		for _, id := range x.also {
			merged[id] = true
		}
	}
	for id, x := range l {
		if !merged[id] {
			kept = append(kept, x)
		}
	}
	older := func(a, b line) int { return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.id, b.id)) }
	slices.SortFunc(kept, func(a, b line) int {
		switch {
		case a.ended == b.ended:
			return older(a, b)
		case a.ended:
			return -1
		}
		return 1
	})
	over := max(len(kept)-size, 0)
	for _, x := range kept[:over] {
		dropped.Add(incident.Displaced{Count: 1, Until: x.until})
	}
	kept = kept[over:]
	slices.SortFunc(kept, older)
	return kept, dropped
}

// contents is the content of a file.
type contents struct {
	header
	// saved is the last saved state of each incident, by ID. lines is the position of each of these states.
	saved map[string]archive.Saved
	lines lines
	// size is the size of the file in bytes.
	size int64
	// exists is set if there is a file. count is the number of its lines, including the damaged ones.
	exists         bool
	count, damaged int
}

// damage describes the damage to a file.
func (c *contents) damage() string {
	switch {
	case c.exists && c.count == 0:
		return "the file is empty"
	case c.damaged > 0:
		return fmt.Sprintf("%d of %d lines cannot be read", c.damaged, c.count)
	}
	return ""
}

// newest returns the incidents to keep, sorted by start. displaced is the number of all incidents that were ever
// displaced from the file.
func (c *contents) newest(size int) (kept []archive.Saved, displaced incident.Displaced) {
	lines, displaced := c.lines.newest(size)
	for _, x := range lines {
		kept = append(kept, c.saved[x.id])
	}
	displaced.Add(c.Displaced)
	return kept, displaced
}

func load(path string) (contents, error) {
	found := contents{saved: map[string]archive.Saved{}, lines: lines{}}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	found.exists = true
	if err != nil {
		return found, fmt.Errorf("open the saved incidents: %w", err)
	}
	defer func() { _ = file.Close() }() // the file was only read
	if err := found.read(file); err != nil {
		return contents{exists: true}, fmt.Errorf("read the saved incidents in %s: %w", path, err)
	}
	return found, nil
}

// read adds all lines of a file. It skips lines that are too long for an incident. For example, a power failure can
// leave many NUL bytes behind.
func (c *contents) read(file io.Reader) error {
	in := bufio.NewReaderSize(file, writeSize)
	var text []byte
	offset, long := int64(0), false
	for {
		part, err := in.ReadSlice('\n')
		c.size += int64(len(part))
		if long = c.size-offset > maxLine; !long {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err //nolint:wrapcheck // load wraps it
		case long:
			c.count, c.damaged = c.count+1, c.damaged+1
		case len(text) > 0:
			c.add(offset, bytes.TrimSuffix(text, []byte("\n")))
		}
		if err != nil {
			return nil
		}
		text, offset = text[:0], c.size
	}
}

// add adds a line, which holds an incident or the header. The parameter offset is the line's position in the file.
func (c *contents) add(offset int64, text []byte) {
	var s struct {
		archive.Saved
		Displaced *incident.Displaced `json:"displaced"`
		LostUntil time.Time           `json:"lost_until"`
	}
	err := json.Unmarshal(text, &s)
	c.count++
	switch {
	case err == nil && s.Incident.ID != "":
		c.saved[s.Incident.ID] = s.Saved
		c.lines[s.Incident.ID] = lineOf(&s.Saved, offset, int64(len(text)))
	case err == nil && s.Displaced != nil:
		c.header = header{*s.Displaced, s.LostUntil}
	default:
		c.damaged++
	}
}

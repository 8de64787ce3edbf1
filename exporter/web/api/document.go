package api

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
)

var idPattern = regexp.MustCompile(`^[0-9a-f]+(-[0-9]*)?$`)

// IsID reports whether a text can be an ID or its beginning.
func IsID(text string) bool { return idPattern.MatchString(text) }

// MinPrefix is the minimum length of an abbreviated ID.
const MinPrefix = 4

// The ID of an incident has idLength characters. Tables abbreviate it to shortIDLength characters, which distinguish all
// incidents that kubeflap keeps.
const shortIDLength, idLength = 8, 16

// ShortID returns the ID as tables show it.
func ShortID(id string) string { return id[:min(len(id), shortIDLength)] }

// JSON prints a document of the API, or a part of it. It escapes characters that could control a terminal.
func JSON(out io.Writer, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err == nil {
		_, err = io.WriteString(out, escaped(string(text))+"\n")
	}
	if err != nil {
		return fmt.Errorf("print the document: %w", err)
	}
	return nil
}

// escaped escapes unprintable characters. In JSON, they occur only inside strings.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

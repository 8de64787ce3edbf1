package api

import "strings"

// The ID of an incident has idLength characters. Tables abbreviate it to shortIDLength characters, which distinguish all
// incidents that kubeflap keeps.
const shortIDLength, idLength = 8, 16

// ShortID returns the ID as tables show it.
func ShortID(id string) string { return id[:min(len(id), shortIDLength)] }

// Abbreviates reports whether short is an abbreviation of the ID, and at least as long as in tables.
func Abbreviates(short, id string) bool {
	return len(short) >= shortIDLength && len(short) < idLength && strings.HasPrefix(id, short)
}

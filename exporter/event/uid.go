package event

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

// UID identifies an object, or a Service address. If metadata.uid is a lower-case UUID, which is what API servers
// generate, the UID holds that UUID. Otherwise, it holds a hash of metadata.uid.
type UID [16]byte

// ParseUID converts a metadata.uid. It returns the zero UID for an empty string.
func ParseUID[T string | []byte](s T) UID {
	if len(s) == 0 {
		return UID{}
	}
	if uid, ok := parseUUID(s); ok {
		return uid
	}
	return hashUID(string(s))
}

// AddressUID returns the UID of an address without a targetRef. It is a hash of the IP or host name.
func AddressUID(address string) UID { return hashUID("address/" + address) }

// IsZero reports whether the UID is absent.
func (u UID) IsZero() bool { return u == UID{} }

// String returns the UID in the form of a UUID.
func (u UID) String() string { return string(u.Append(nil)) }

// Append appends the UID in the form of a UUID.
func (u UID) Append(text []byte) []byte {
	text = append(hex.AppendEncode(text, u[0:4]), '-')
	text = append(hex.AppendEncode(text, u[4:6]), '-')
	text = append(hex.AppendEncode(text, u[6:8]), '-')
	text = append(hex.AppendEncode(text, u[8:10]), '-')
	return hex.AppendEncode(text, u[10:16])
}

// MarshalText returns the UID in the form of a UUID.
func (u UID) MarshalText() ([]byte, error) { return u.Append(nil), nil }

// UnmarshalText parses the text that MarshalText returns. It returns an error for any other text.
func (u *UID) UnmarshalText(text []byte) error {
	uid, ok := parseUUID(text)
	if !ok {
		return errors.New("a uid must be a UUID")
	}
	*u = uid
	return nil
}

// parseUUID only accepts lower case. The API server compares UIDs as strings, so a UUID in upper case is a different
// UID.
func parseUUID[T string | []byte](s T) (uid UID, ok bool) {
	if len(s) != 36 {
		return uid, false
	}
	for _, dash := range [...]int{8, 13, 18, 23} {
		if s[dash] != '-' {
			return uid, false
		}
	}
	for i, at := range [...]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34} {
		high, low := nibbles[s[at]], nibbles[s[at+1]]
		if high > 15 || low > 15 {
			return uid, false
		}
		uid[i] = high<<4 | low
	}
	return uid, true
}

// nibbles contains the value of each hexadecimal digit, and 16 for all other characters. Each event of an Endpoints object
// contains the UIDs of all its addresses.
var nibbles = func() (all [256]byte) {
	for c := range all {
		all[c] = 16
		if i := strings.IndexByte("0123456789abcdef", byte(c)); i >= 0 {
			all[c] = byte(i)
		}
	}
	return all
}()

func hashUID(s string) UID {
	sum := sha256.Sum256([]byte(s))
	return UID(sum[:16])
}

// Hash returns the FNV-1a hash of a string. The hash can replace a string that is only compared for equality.
func Hash(s string) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(s) {
		hash = (hash ^ uint64(s[i])) * 1099511628211
	}
	return hash
}

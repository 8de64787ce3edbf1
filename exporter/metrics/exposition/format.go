// Package exposition writes the formats of /metrics: the text format, OpenMetrics and protobuf.
package exposition

import (
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Encoding is a format that a scrape can write.
type Encoding int

// The encodings.
const (
	PlainText Encoding = iota
	OpenMetrics
	Protobuf
	NumEncodings
)

// EncodingOf converts a format to an Encoding. ok is false for rare formats and rare escaping schemes, which
// client_golang must write instead.
func EncodingOf(format expfmt.Format) (e Encoding, ok bool) {
	switch format.FormatType() {
	case expfmt.TypeTextPlain:
		e = PlainText
	case expfmt.TypeOpenMetrics:
		e = OpenMetrics
	case expfmt.TypeProtoDelim:
		e = Protobuf
	default:
		return e, false
	}
	escaping := format.ToEscapingScheme()
	return e, escaping == model.NoEscaping || escaping == model.UnderscoreEscaping
}

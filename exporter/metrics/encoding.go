package metrics

import (
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// encoding is a format that a scrape can write.
type encoding int

// The encodings.
const (
	plainText encoding = iota
	openMetrics
	protobuf
	numEncodings
)

// encodingOf converts a format to an encoding. ok is false for rare formats and rare escaping schemes, which
// client_golang must write instead.
func encodingOf(format expfmt.Format) (e encoding, ok bool) {
	switch format.FormatType() {
	case expfmt.TypeTextPlain:
		e = plainText
	case expfmt.TypeOpenMetrics:
		e = openMetrics
	case expfmt.TypeProtoDelim:
		e = protobuf
	default:
		return e, false
	}
	escaping := format.ToEscapingScheme()
	return e, escaping == model.NoEscaping || escaping == model.UnderscoreEscaping
}

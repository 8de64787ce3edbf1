package metrics

import (
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// encoding is how series are written.
type encoding int

const (
	plainText encoding = iota
	openMetrics
	protobuf
	numEncodings
)

// CanScrape reports whether Page.Scrape knows the format. What it does not know is rare, or escapes names such as ours.
func CanScrape(format expfmt.Format) bool {
	_, ok := encodingOf(format)
	return ok
}

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

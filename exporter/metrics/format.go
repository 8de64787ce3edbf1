package metrics

import (
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// encoding is a format that a scrape can write.
type encoding int

const (
	plainText encoding = iota
	openMetrics
	protobuf
	numEncodings
)

// CanScrape reports whether Scrape.Write knows the format. The others are rare, or escape names that kubeflap does not use.
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

package metrics

import "github.com/prometheus/common/expfmt"

// encoding is a format that a scrape can write.
type encoding int

// The encodings.
const (
	plainText encoding = iota
	openMetrics
	protobuf
	numEncodings
)

// Formats returns the formats that Scrape.Write supports.
func Formats() []expfmt.Format {
	return []expfmt.Format{expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1, expfmt.FmtProtoDelim, expfmt.FmtText}
}

// encodingOf converts a format to an encoding. The escaping scheme does not matter, because all names are valid without.
func encodingOf(format expfmt.Format) encoding {
	switch format.FormatType() {
	case expfmt.TypeOpenMetrics:
		return openMetrics
	case expfmt.TypeProtoDelim:
		return protobuf
	}
	return plainText
}

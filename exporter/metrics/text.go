package metrics

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

var (
	textHelp = strings.NewReplacer("\\", `\\`, "\n", `\n`)
	quoted   = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)
)

// headOf returns the text that precedes the series of a metric: the HELP and TYPE lines or, in protobuf, the fields of
// the MetricFamily. In OpenMetrics, the HELP and TYPE lines of a counter omit the suffix _total.
func headOf(name, help string, kind dto.MetricType, format encoding) []byte {
	if format == protobuf {
		return description(name, help, kind)
	}
	escaped := textHelp.Replace(help)
	if format == openMetrics {
		escaped = quoted.Replace(help)
		if kind == dto.MetricType_COUNTER {
			name = strings.TrimSuffix(name, "_total")
		}
	}
	return []byte("# HELP " + name + " " + escaped + "\n# TYPE " + name + " " + typeText(kind) + "\n")
}

// typeText returns the name of the type in the text formats.
func typeText(kind dto.MetricType) string { return strings.ToLower(kind.String()) }

// appendLabel appends a label and a comma.
func appendLabel(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, `="`...)
	if mustQuote(value) {
		value = quoted.Replace(value)
	}
	b = append(b, value...)
	return append(b, `",`...)
}

// mustQuote reports whether a label value contains a character that must be escaped. For short strings, it is much
// faster than strings.ContainsAny.
func mustQuote(value string) bool {
	for i := range len(value) {
		if c := value[i]; c == '\\' || c == '\n' || c == '"' {
			return true
		}
	}
	return false
}

// Whole numbers below maxInteger are written as integers. A float64 represents these numbers exactly.
const maxInteger = 1 << 53

// appendNumber appends a number. Set open for OpenMetrics, in which a float always has a point or an exponent.
func appendNumber(b []byte, value float64, open bool) []byte {
	switch {
	case math.IsNaN(value):
		return append(b, "NaN"...)
	case math.IsInf(value, 1):
		return append(b, "+Inf"...)
	case math.IsInf(value, -1):
		return append(b, "-Inf"...)
	case value == math.Trunc(value) && math.Abs(value) < maxInteger:
		b = strconv.AppendInt(b, int64(value), 10)
		if open {
			b = append(b, ".0"...)
		}
		return b
	}
	begin := len(b)
	b = strconv.AppendFloat(b, value, 'g', -1, 64)
	if open && !bytes.ContainsAny(b[begin:], "e.") {
		b = append(b, ".0"...)
	}
	return b
}

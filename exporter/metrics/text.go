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

// head is the HELP and TYPE lines of a metric. OpenMetrics names a counter without _total there.
func head(m *Metric, format encoding) []byte {
	name, help := m.Name, textHelp.Replace(m.Help)
	if format == openMetrics {
		help = quoted.Replace(m.Help)
		if m.Type == dto.MetricType_COUNTER {
			name = strings.TrimSuffix(name, "_total")
		}
	}
	return []byte("# HELP " + name + " " + help + "\n# TYPE " + name + " " + m.typeText() + "\n")
}

// writeLine writes a series of the object.
func (s *scrape) writeLine(name string, value float64, names, labels []string) {
	o := &s.object
	b := s.buffer
	b = append(b, name...)
	if len(o.encoded)+len(labels) > 0 {
		b = append(b, '{')
		b = append(b, o.encoded...)
		for i, label := range labels {
			b = appendLabel(b, names[i], label)
		}
		b[len(b)-1] = '}' // in place of the last comma
	}
	b = append(b, ' ')
	s.buffer = append(appendNumber(b, value, s.encoding == openMetrics), '\n')
}

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

// mustQuote does what strings.ContainsAny does, in a fraction of the time for texts as short as labels.
func mustQuote(value string) bool {
	for i := range len(value) {
		if c := value[i]; c == '\\' || c == '\n' || c == '"' {
			return true
		}
	}
	return false
}

// maxInteger bounds the whole numbers that are written without a point or an exponent. Below it a float64 is exact.
const maxInteger = 1 << 53

// appendNumber appends a number. In OpenMetrics it gets a point or an exponent, which marks a float.
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

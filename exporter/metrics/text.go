package metrics

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// openTotal is what OpenMetrics leaves out of a counter's name where the metric is described.
const openTotal = "_total"

var (
	textHelp = strings.NewReplacer("\\", `\\`, "\n", `\n`)
	quoted   = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)
)

// head is the lines that stand before the series of a metric.
func head(m *Metric, format encoding) []byte {
	name, help := m.Name, textHelp.Replace(m.Help)
	if format == openMetrics {
		help = quoted.Replace(m.Help)
		if m.family == dto.MetricType_COUNTER {
			name = strings.TrimSuffix(name, openTotal)
		}
	}
	return []byte("# HELP " + name + " " + help + "\n# TYPE " + name + " " + m.Type + "\n")
}

// writeLine writes a series of the object.
func (s *scrape) writeLine(name string, value float64, names, labels []string) {
	o := &s.object
	b := s.written
	b = append(b, name...)
	if len(o.written)+len(labels) > 0 {
		b = append(b, '{')
		b = append(b, o.written...)
		for i, label := range labels {
			b = appendLabel(b, names[i], label)
		}
		b[len(b)-1] = '}' // it was a comma
	}
	b = append(b, ' ')
	s.written = append(appendNumber(b, value, s.encoding == openMetrics), '\n')
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

// mustQuote is strings.ContainsAny, which takes several times as long for texts as short as labels.
func mustQuote(value string) bool {
	for i := range len(value) {
		if c := value[i]; c == '\\' || c == '\n' || c == '"' {
			return true
		}
	}
	return false
}

// wholeNumbers up to this are written without a point or an exponent; all of them are exact.
const wholeNumbers = 1 << 53

// appendNumber appends a number; OpenMetrics wants it to look like one that need not be whole.
func appendNumber(b []byte, value float64, open bool) []byte {
	switch {
	case math.IsNaN(value):
		return append(b, "NaN"...)
	case math.IsInf(value, 1):
		return append(b, "+Inf"...)
	case math.IsInf(value, -1):
		return append(b, "-Inf"...)
	case value == math.Trunc(value) && math.Abs(value) < wholeNumbers:
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

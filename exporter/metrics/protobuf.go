package metrics

import (
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"
)

// These are the field numbers in metrics.proto of github.com/prometheus/client_model.
const (
	familyName, familyHelp, familyType, familyMetric = 1, 2, 3, 4

	metricLabel, metricGauge, metricCounter = 1, 2, 3

	pairName, pairValue = 1, 2

	numberValue, counterCreated = 1, 3

	timeSeconds, timeNanos = 1, 2
)

// description returns an encoded MetricFamily without series.
func description(name, help string, kind dto.MetricType) []byte {
	b := appendString(nil, familyName, name)
	b = appendString(b, familyHelp, help)
	b = protowire.AppendTag(b, familyType, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(kind))
}

// appendPair appends a label as a field of its Metric.
func appendPair(b []byte, name, value string) []byte {
	size := protowire.SizeTag(pairName) + protowire.SizeBytes(len(name)) + protowire.SizeTag(pairValue) + protowire.SizeBytes(len(value))
	b = protowire.AppendTag(b, metricLabel, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	return appendString(appendString(b, pairName, name), pairValue, value)
}

// appendValue appends a gauge's or counter's value as a field of its Metric.
func appendValue(b []byte, kind dto.MetricType, value float64, created time.Time) []byte {
	const most = 64
	number := make([]byte, 0, most)
	number = protowire.AppendTag(number, numberValue, protowire.Fixed64Type)
	number = protowire.AppendFixed64(number, math.Float64bits(value))
	if kind == dto.MetricType_GAUGE {
		return appendBytes(b, metricGauge, number)
	}
	if !created.IsZero() {
		number = appendBytes(number, counterCreated, appendTime(make([]byte, 0, most), created))
	}
	return appendBytes(b, metricCounter, number)
}

// appendTime appends the fields of a google.protobuf.Timestamp.
func appendTime(b []byte, t time.Time) []byte {
	b = protowire.AppendTag(b, timeSeconds, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(t.Unix()))
	b = protowire.AppendTag(b, timeNanos, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(t.Nanosecond()))
}

func appendString(b []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), text)
}

func appendBytes(b []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), message)
}

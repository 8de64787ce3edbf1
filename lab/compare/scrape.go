// Package compare reads kubeflap's metrics and compares them with the recorder.
package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeflap/kubeflap/lab/fetch"
	"github.com/kubeflap/kubeflap/lab/steps"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// accept is an Accept header. It requests protobuf, because only protobuf includes native histograms.
const accept = `application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited`

// Ready returns nil if the kubeflap at the URL is ready.
func Ready(ctx context.Context, url string) error {
	_, err := fetch.Body(ctx, url+"/-/ready")
	return err
}

// Scrape reads all series at a URL.
func Scrape(ctx context.Context, url string) truth.Counts {
	request := steps.Value(http.NewRequestWithContext(ctx, http.MethodGet, url, nil))
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	steps.Must(err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		steps.Must(fmt.Errorf("scrape %s: %s", url, response.Status))
	}
	decoder, counts := expfmt.NewDecoder(response.Body, expfmt.ResponseFormat(response.Header)), truth.Counts{}
	for {
		family := &dto.MetricFamily{}
		err := decoder.Decode(family)
		if errors.Is(err, io.EOF) {
			addLosses(counts)
			return counts
		}
		steps.Must(err)
		for _, sample := range steps.Value(expfmt.ExtractSamples(&expfmt.DecodeOptions{}, family)) {
			counts[sample.Metric.String()] = float64(sample.Value)
		}
	}
}

// isTime reports whether a metric is a time or a duration. Such values are never exactly equal in two watchers.
func isTime(name string) bool {
	name = plain(name)
	return strings.HasSuffix(name, "_seconds") || strings.HasSuffix(name, "_seconds_total") ||
		strings.HasSuffix(name, "_seconds_sum")
}

// OfIncidents reports whether a metric describes incidents.
func OfIncidents(name string) bool {
	switch name {
	case "kubeflap_incidents", "kubeflap_incidents_total", "kubeflap_incident_nodes", "kubeflap_node_verdict", "kubeflap_service_verdict":
		return true
	}
	return false
}

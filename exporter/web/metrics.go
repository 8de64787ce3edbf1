package web

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kubeflap/kubeflap/exporter/metrics"
)

// metricsHandler leaves to the library all but the text formats.
func metricsHandler(gatherer prometheus.TransactionalGatherer, registry *prometheus.Registry, logger *slog.Logger) (http.Handler, error) {
	library := promhttp.HandlerForTransactional(gatherer, promhttp.HandlerOpts{
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelError),
		ErrorHandling:     promhttp.HTTPErrorOnError,
		Registry:          registry,
		EnableOpenMetrics: true,
	})
	compress, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.MinSize(1))
	if err != nil {
		return nil, fmt.Errorf("set up compression: %w", err)
	}
	text := compress(textHandler(gatherer, logger))
	return promhttp.InstrumentMetricHandler(registry, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isText(negotiated(r)) {
			text.ServeHTTP(w, r)
		} else {
			library.ServeHTTP(w, r)
		}
	})), nil
}

func negotiated(r *http.Request) expfmt.Format {
	return expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
}

// isText reports whether metrics.WriteText can write the format: protobuf is the library's, and so are ways to escape names that change ours.
func isText(format expfmt.Format) bool {
	kind, escaping := format.FormatType(), format.ToEscapingScheme()
	return (kind == expfmt.TypeTextPlain || kind == expfmt.TypeOpenMetrics) &&
		(escaping == model.NoEscaping || escaping == model.UnderscoreEscaping)
}

func textHandler(gatherer prometheus.TransactionalGatherer, logger *slog.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		families, done, err := gatherer.Gather()
		defer done()
		if err != nil {
			logger.Error("cannot gather the metrics", "err", err)
			http.Error(w, fmt.Sprintf("cannot gather the metrics: %v", err), http.StatusInternalServerError)
			return
		}
		format := negotiated(r)
		w.Header().Set("Content-Type", string(format))
		if err := metrics.WriteText(w, format, families); err != nil {
			logger.Debug("the reader of the metrics has gone away", "err", err)
		}
	}
}

package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeflap/kubeflap/exporter/metrics"
)

// scrapeWithin is the time that a client has to read /metrics. Prometheus gives up after 10 s, unless it is told otherwise.
// Clients that do not read hold their places until then.
const scrapeWithin = 15 * time.Second

// metricsHandler serves /metrics.
//
// With gzhttp at the stateless level, compressing 2.6 MB of series takes 11 ms and produces 253 kB. With promhttp's
// gzip, it takes 77 ms and produces 190 kB.
func metricsHandler(page *metrics.Page, logger *slog.Logger) (http.Handler, error) {
	compress, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(gzip.StatelessCompression), gzhttp.MinSize(1))
	if err != nil {
		return nil, fmt.Errorf("set up compression: %w", err)
	}
	return withoutCollections(compress(scrapeHandler(page, logger))), nil
}

func scrapeHandler(page *metrics.Page, logger *slog.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(scrapeWithin)) // this only fails without a connection
		scrape, err := page.Scrape()
		if err != nil {
			logger.Error("cannot gather the metrics", "err", err)
			http.Error(w, fmt.Sprintf("cannot gather the metrics: %v", err), http.StatusInternalServerError)
			return
		}
		defer scrape.Done()
		format := expfmt.NegotiateAccept(r.Header, metrics.Formats()...)
		w.Header().Add("Vary", "Accept")
		w.Header().Set("Content-Type", string(format))
		if err := scrape.Write(w, format); err != nil {
			logger.Debug("the client closed the connection during a scrape", "err", err)
		}
	}
}

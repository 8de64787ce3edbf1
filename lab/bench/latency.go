package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// offsets returns the delays between an update and the first scrape after it.
func offsets() []time.Duration {
	const ms = time.Millisecond
	return []time.Duration{0, 2 * ms, 5 * ms, 10 * ms, 20 * ms, 30 * ms, 40 * ms, 50 * ms}
}

// probes is the number of measurements at each offset. At least 100 are necessary to find out whether 99 % of them succeed.
const probes = 100

// measureLatency measures how soon /metrics shows an event under load. It changes the readiness of an address, waits
// for one of the offsets, and scrapes. It does not scrape continuously, because each scrape costs CPU time.
func (m *measurement) measureLatency(ctx context.Context) {
	var shares []float64
	m.underLoad(ctx, func(ctx context.Context) {
		for _, offset := range offsets() {
			shown := 0
			for range probes {
				if m.probe(ctx, offset) {
					shown++
				}
			}
			shares = append(shares, float64(shown)/float64(probes))
		}
	})
	m.figures[Shown] = earliest(shares)
}

// earliest returns, in seconds, the smallest offset that is late enough. At this offset and all larger ones, at least
// 99 % of the scrapes showed the event.
func earliest(shares []float64) float64 {
	result := math.Inf(1)
	for i := len(shares) - 1; i >= 0 && shares[i] >= 0.99; i-- {
		result = offsets()[i].Seconds()
	}
	return result
}

// probe changes the readiness of an address, and scrapes after the offset until the change is shown. It reports whether
// the first scrape showed it.
func (m *measurement) probe(ctx context.Context, offset time.Duration) bool {
	before := m.probeFlips(ctx)
	a := m.load.probe
	ready := a.turn%2 == 1
	a.turn++
	a.writeSlice(ctx, 0, ready)
	written := time.Now()
	steps.Must(poll.Sleep(ctx, offset))
	for first := true; time.Since(written) < 10*time.Second; first = false {
		if m.probeFlips(ctx) > before {
			return first
		}
	}
	steps.Must(fmt.Errorf("an update of EndpointSlice %s/%s was not on /metrics after 10 s", a.slice.Namespace, a.slice.Name))
	return false
}

// probeFlips reads from /metrics how many address flips kubeflap has counted for the probed Service.
func (m *measurement) probeFlips(ctx context.Context) (flips float64) {
	a := m.load.probe
	service := fmt.Appendf(nil, "namespace=%q,service=%q", a.endpoints.Namespace, a.endpoints.Name)
	lines := 0
	steps.Must(m.running.eachLine(ctx, m.running.url+"/metrics", func(line []byte) {
		if !bytes.HasPrefix(line, []byte("kubeflap_service_address_flips_total{")) || !bytes.Contains(line, service) {
			return
		}
		value, err := strconv.ParseFloat(string(line[bytes.LastIndexByte(line, ' ')+1:]), 64)
		steps.Must(err)
		lines++
		flips += value
	}))
	if lines == 0 {
		steps.Must(fmt.Errorf("no address flips of Service %s/%s in the metrics", a.endpoints.Namespace, a.endpoints.Name))
	}
	return flips
}

package bench

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/lab/poll"
)

// offsets returns the delays between an update and the first scrape after it.
func offsets() []time.Duration {
	const ms = time.Millisecond
	return []time.Duration{0, 2 * ms, 5 * ms, 10 * ms, 20 * ms, 30 * ms, 40 * ms, 50 * ms}
}

// measureLatency measures how soon /metrics shows an event under load. It changes the readiness of an address, waits
// for one of the offsets, and scrapes. It does not scrape continuously, because each scrape costs CPU time.
func (m *measurement) measureLatency(ctx context.Context) error {
	var shares []float64
	var answered []time.Duration
	rate, err := m.underLoad(ctx, func(ctx context.Context) error {
		for _, offset := range offsets() {
			shown := 0
			for range m.pace.Probes {
				p, err := m.probe(ctx, offset)
				if err != nil {
					return err
				}
				if p.shown {
					shown++
				}
				if offset == 0 {
					answered = append(answered, p.answered)
				}
			}
			shares = append(shares, float64(shown)/float64(m.pace.Probes))
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.figures[ShownRate] = rate
	m.figures[Shown] = earliest(shares)
	m.figures[Answered] = quantile(0.99, inSeconds(answered))
	return nil
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

// probed is the result of one update and the scrapes after it.
type probed struct {
	// shown is true if the first scrape showed the update. answered is the time from the update to the end of the first
	// scrape that showed it.
	shown    bool
	answered time.Duration
}

func (m *measurement) probe(ctx context.Context, offset time.Duration) (probed, error) {
	before, err := m.probeFlips(ctx)
	if err != nil {
		return probed{}, err
	}
	a := m.load.probe
	ready := a.turn%2 == 1
	a.turn++
	if err := a.writeSlice(ctx, 0, ready); err != nil {
		return probed{}, err
	}
	written := time.Now()
	if err := poll.Sleep(ctx, offset); err != nil {
		return probed{}, err
	}
	for first := true; time.Since(written) < 10*time.Second; first = false {
		flips, err := m.probeFlips(ctx)
		if err != nil {
			return probed{}, err
		}
		if flips > before {
			return probed{shown: first, answered: time.Since(written)}, nil
		}
	}
	return probed{}, fmt.Errorf("an update of EndpointSlice %s/%s was not on /metrics after 10 s", a.slice.Namespace, a.slice.Name)
}

// probeFlips reads from /metrics how many address flips kubeflap has counted for the probed Service.
func (m *measurement) probeFlips(ctx context.Context) (flips float64, err error) {
	a := m.load.probe
	service := fmt.Appendf(nil, "namespace=%q,service=%q", a.endpoints.Namespace, a.endpoints.Name)
	lines := 0
	err = m.running.eachLine(ctx, m.running.url+"/metrics", func(line []byte) {
		if !bytes.HasPrefix(line, []byte("kubeflap_service_address_flips_total{")) || !bytes.Contains(line, service) {
			return
		}
		value, parseErr := strconv.ParseFloat(string(line[bytes.LastIndexByte(line, ' ')+1:]), 64)
		if parseErr == nil {
			lines++
			flips += value
		}
	})
	if err == nil && lines == 0 {
		err = fmt.Errorf("no address flips of Service %s/%s in the metrics", a.endpoints.Namespace, a.endpoints.Name)
	}
	return flips, err
}

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

// offsets are the times after an update at which a scrape is begun, to see whether it shows the update.
func offsets() []time.Duration {
	const ms = time.Millisecond
	return []time.Duration{0, 2 * ms, 5 * ms, 10 * ms, 20 * ms, 30 * ms, 40 * ms, 50 * ms}
}

// latency measures how soon an event is on /metrics while others come: an address of a Service flaps, and scrapes that begin
// some time after the update's call has returned are looked at. It is not measured by polling: scrapes are work too.
func (m *measurement) latency(ctx context.Context) error {
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

// earliest is the first offset from which on 99 % of the scrapes show the event.
func earliest(shares []float64) float64 {
	result := math.Inf(1)
	for i := len(shares) - 1; i >= 0 && shares[i] >= 0.99; i-- {
		result = offsets()[i].Seconds()
	}
	return result
}

// probed is what became of an update.
type probed struct {
	// shown says whether the first scrape had it; answered is when an answer with it was read.
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

// probeFlips scrapes how often addresses of the probed Service have flipped.
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
		err = fmt.Errorf("kubeflap shows no flips of Service %s/%s", a.endpoints.Namespace, a.endpoints.Name)
	}
	return flips, err
}

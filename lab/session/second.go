package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/proxy"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// Delays are by how much the watches of a second kubeflap are late, by resource.
type Delays map[string]time.Duration

// ParseDelays reads what String writes.
func ParseDelays(text string) (Delays, error) {
	delays := Delays{}
	for _, one := range strings.Split(text, ",") {
		resource, late, ok := strings.Cut(one, "=")
		by, err := time.ParseDuration(late)
		if !ok || err != nil || resource == "" {
			return nil, fmt.Errorf("%q is not as pods=1.5s,endpoints=1.5s", text)
		}
		delays[resource] = by
	}
	return delays, nil
}

// String is as pods=1.5s,endpoints=1.5s.
func (d Delays) String() string {
	var all []string
	for _, resource := range slices.Sorted(maps.Keys(d)) {
		all = append(all, resource+"="+d[resource].String())
	}
	return strings.Join(all, ",")
}

// liveAfter is for how long kubeflap takes what a new watch brings for what it may have missed: what begins then it does
// not measure, and the last to be started would measure less than the first. It is 2 s.
const liveAfter = 3 * time.Second

// second is a kubeflap whose watches are late.
type second struct {
	delays Delays
	url    string
}

// lateBeforeStart are the metrics of each kubeflap when the scenario starts, by its URL, for their late heartbeats. The kubelets are paused until all
// kubeflaps have started. On a busy machine that takes longer than half of the grace period: those that started first see a late heartbeat, the
// last does not.
func (s *Session) lateBeforeStart(ctx context.Context) (map[string]truth.Counts, error) {
	late := map[string]truth.Counts{}
	if s.seconds == nil {
		return late, nil
	}
	if err := errors.Join(s.lab.EveryNodeBeats(ctx), poll.Sleep(ctx, liveAfter)); err != nil {
		return nil, err
	}
	urls := []string{s.URL}
	for _, other := range s.seconds {
		urls = append(urls, other.url)
	}
	for _, url := range urls {
		told, err := compare.Scrape(ctx, url+"/metrics")
		if err != nil {
			return nil, err
		}
		late[url] = told
	}
	return late, nil
}

// scrape reads a kubeflap's metrics, without the late heartbeats from before the scenario.
func (s *Session) scrape(ctx context.Context, url string) (truth.Counts, error) {
	told, err := compare.Scrape(ctx, url+"/metrics")
	for series := range told {
		switch truth.Name(series) {
		case "kubeflap_node_heartbeats_late_total", "kubeflap_node_heartbeats_missed_total":
			told[series] -= s.late[url][series]
		}
	}
	return told, err
}

// startProxy starts a proxy, and writes a kubeconfig with kubeflap's rights that leads through it.
func (s *Session) startProxy(name string) (p *proxy.Proxy, kubeconfig string, err error) {
	address, err := cluster.FreePort()
	if err != nil {
		return nil, "", err
	}
	if p, err = proxy.Start(s.Cluster.Config, address); err != nil {
		return nil, "", err
	}
	s.proxies = append(s.proxies, p)
	kubeconfig = s.account + "." + name
	return p, kubeconfig, p.Kubeconfig(s.account, kubeconfig)
}

// startSeconds starts a kubeflap for each of the delays, while nothing moves: then all have the same baseline.
func (s *Session) startSeconds(ctx context.Context) error {
	for i, delays := range s.options.Seconds {
		name := fmt.Sprintf("kubeflap-%d", i+2)
		p, kubeconfig, err := s.startProxy(name)
		if err != nil {
			return err
		}
		for resource, by := range delays {
			p.Delay(by, resource)
		}
		url, err := s.startOne(ctx, name, kubeconfig)
		if err != nil {
			return err
		}
		s.seconds = append(s.seconds, second{delays, url})
	}
	if s.seconds == nil {
		return nil
	}
	return poll.Sleep(ctx, liveAfter)
}

// tellTheSame waits until all of them tell the same as the first.
func (s *Session) tellTheSame(ctx context.Context) error {
	if s.seconds == nil {
		return nil
	}
	begin := time.Now()
	agreed := map[string]bool{}
	return poll.Until(ctx, patience, "kubeflaps with late watches to tell the same", func(ctx context.Context) error {
		var errs []error
		for _, other := range s.seconds {
			late := other.delays.String()
			if err := s.tellsTheSame(ctx, other.url); err != nil {
				errs = append(errs, fmt.Errorf("with %s late: %w", late, err))
			} else if !agreed[late] {
				agreed[late] = true
				s.options.Log.Info("both tell the same", "late", late, "after", time.Since(begin).Round(time.Millisecond))
			}
		}
		return errors.Join(errs...)
	})
}

func (s *Session) tellsTheSame(ctx context.Context, url string) error {
	first, err := s.scrape(ctx, s.URL)
	if err != nil {
		return err
	}
	late, err := s.scrape(ctx, url)
	if err != nil {
		return err
	}
	var errs []error
	if unlike := compare.Unlike(first, late); len(unlike) > 0 {
		errs = append(errs, fmt.Errorf("%d series differ:\n%s", len(unlike), compare.TableOf("first", "late", unlike)))
	}
	return errors.Join(append(errs, tellTheSameIncidents(ctx, s.URL, url))...)
}

// tellTheSameIncidents compares what an incident is; when it began and what belongs to it each tells as it saw it.
func tellTheSameIncidents(ctx context.Context, url, lateURL string) error {
	first, err := identities(ctx, url)
	if err != nil {
		return err
	}
	late, err := identities(ctx, lateURL)
	if err != nil {
		return err
	}
	if slices.Equal(first, late) {
		return nil
	}
	return fmt.Errorf("the incidents differ, first:\n%s\nlate:\n%s", strings.Join(first, "\n"), strings.Join(late, "\n"))
}

// identities are what must be the same of each incident.
func identities(ctx context.Context, url string) ([]string, error) {
	told, err := compare.Incidents(ctx, url)
	var lines []string
	for _, x := range told.Incidents {
		lines = append(lines, fmt.Sprintf("  %s %s %s of %s", x.ID, x.Scope, x.Cause, strings.TrimPrefix(x.Namespace+"/"+x.Subject, "/")))
	}
	slices.SortFunc(lines, cmp.Compare)
	return lines, err
}

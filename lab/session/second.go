package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// Delays maps a resource to the delay of its watch events.
type Delays map[string]time.Duration

// ParseDelays parses delays in the format of the method String.
func ParseDelays(text string) (Delays, error) {
	delays := Delays{}
	for _, one := range strings.Split(text, ",") {
		resource, late, ok := strings.Cut(one, "=")
		by, err := time.ParseDuration(late)
		if !ok || err != nil || resource == "" {
			return nil, fmt.Errorf("%q does not have the format pods=1.5s,endpoints=1.5s", text)
		}
		delays[resource] = by
	}
	return delays, nil
}

// String formats the delays like pods=1.5s,endpoints=1.5s.
func (d Delays) String() string {
	var all []string
	for _, resource := range slices.Sorted(maps.Keys(d)) {
		all = append(all, resource+"="+d[resource].String())
	}
	return strings.Join(all, ",")
}

// liveAfter is a pause after the start of the watches. For the first 2 s, kubeflap treats events as possibly old, and
// measures no intervals. After the pause, all instances measure the same intervals.
const liveAfter = 3 * time.Second

// second is an additional kubeflap instance whose watches are delayed.
type second struct {
	delays Delays
	url    string
}

// instances are the kubeflap under test, with the URL first, and additional instances whose watches are delayed.
type instances struct {
	first string
	rest  []second
	// late maps the URL of each instance to its metrics before the scenario. The kubelets are paused until all
	// instances have started, so an instance that starts early can already have counted late heartbeats.
	late map[string]truth.Counts
	log  *slog.Logger
}

// readLate reads the metrics before the scenario. The method scrape subtracts these counts of late heartbeats.
func (x *instances) readLate(ctx context.Context) error {
	if err := poll.Sleep(ctx, liveAfter); err != nil {
		return err
	}
	x.late = map[string]truth.Counts{}
	for _, other := range append([]second{{url: x.first}}, x.rest...) {
		reported, err := compare.Scrape(ctx, other.url+"/metrics")
		if err != nil {
			return err
		}
		x.late[other.url] = reported
	}
	return nil
}

// scrape reads the metrics of an instance. It subtracts heartbeats that were late before the scenario.
func (x *instances) scrape(ctx context.Context, url string) (truth.Counts, error) {
	reported, err := compare.Scrape(ctx, url+"/metrics")
	for series := range reported {
		switch truth.Name(series) {
		case "kubeflap_node_heartbeats_late_total", "kubeflap_node_heartbeats_missed_total":
			reported[series] -= x.late[url][series]
		}
	}
	return reported, err
}

// startProxy starts a proxy for a kubeflap instance, and writes a kubeconfig that uses this proxy with kubeflap's
// permissions.
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

// startSeconds starts the additional instances, one for each entry of Options.Seconds. The caller has paused the
// kubelets, so all instances start with the same state.
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
		s.instances.rest = append(s.instances.rest, second{delays, url})
	}
	s.instances.first, s.instances.log = s.URL, s.options.Log
	if s.instances.rest == nil {
		return nil
	}
	return poll.Sleep(ctx, liveAfter)
}

// waitForSameReports waits until each additional instance reports the same as the first instance.
func (x *instances) waitForSameReports(ctx context.Context) error {
	if x.rest == nil {
		return nil
	}
	begin := time.Now()
	agreed := map[string]bool{}
	return poll.Until(ctx, patience, "all kubeflap instances to report the same", func(ctx context.Context) error {
		var errs []error
		for _, other := range x.rest {
			late := other.delays.String()
			if err := x.checkSameReports(ctx, other.url); err != nil {
				errs = append(errs, fmt.Errorf("with %s late: %w", late, err))
			} else if !agreed[late] {
				agreed[late] = true
				x.log.Info("both instances report the same", "late", late, "after", time.Since(begin).Round(time.Millisecond))
			}
		}
		return errors.Join(errs...)
	})
}

func (x *instances) checkSameReports(ctx context.Context, url string) error {
	first, err := x.scrape(ctx, x.first)
	if err != nil {
		return err
	}
	late, err := x.scrape(ctx, url)
	if err != nil {
		return err
	}
	var errs []error
	if unlike := compare.Unlike(first, late); len(unlike) > 0 {
		errs = append(errs, fmt.Errorf("%d series differ:\n%s", len(unlike), compare.TableOf("first", "late", unlike)))
	}
	return errors.Join(append(errs, checkSameIncidents(ctx, x.first, url))...)
}

// checkSameIncidents compares which incidents two instances report. It ignores start times and details, because the
// instances received the events at different times. If an instance first saw another member of an incident, it shows the
// incident by another ID, but must answer to the ID of the other instance.
func checkSameIncidents(ctx context.Context, url, lateURL string) error {
	first, err := compare.Incidents(ctx, url)
	if err != nil {
		return err
	}
	late, err := compare.Incidents(ctx, lateURL)
	if err != nil {
		return err
	}
	rest := slices.Clone(late.Incidents)
	for _, x := range first.Incidents {
		if i := slices.IndexFunc(rest, func(y compare.Incident) bool { return isSame(x, y) }); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		return fmt.Errorf("the incidents differ; first instance:\n%s\ndelayed instance:\n%s", identities(first.Incidents), identities(late.Incidents))
	}
	if len(rest) > 0 {
		return fmt.Errorf("only the delayed instance reports:\n%s", identities(rest))
	}
	return nil
}

func isSame(x, y compare.Incident) bool {
	return (x.ID == y.ID || slices.Contains(x.Also, y.ID) && slices.Contains(y.Also, x.ID)) &&
		x.Scope == y.Scope && x.Cause == y.Cause && x.Namespace == y.Namespace && x.Subject == y.Subject
}

// identities returns a line for each incident.
func identities(all []compare.Incident) string {
	var lines []string
	for _, x := range all {
		lines = append(lines, fmt.Sprintf("  %s (also %s) %s %s of %s", x.ID, x.Also, x.Scope, x.Cause, strings.TrimPrefix(x.Namespace+"/"+x.Subject, "/")))
	}
	return strings.Join(lines, "\n")
}

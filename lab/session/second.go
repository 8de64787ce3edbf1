package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/proxy"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/steps"
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

// readLate reads the metrics of all instances before the scenario. The kubelets are paused until all instances have
// started, so an instance that starts early can already have counted late heartbeats. scrapeAt subtracts these.
func (s *Session) readLate() {
	s.Sleep(liveAfter)
	s.late = map[string]truth.Counts{}
	for _, x := range append([]second{{url: s.URL}}, s.seconds...) {
		s.late[x.url] = s.scrapeAt(&s.Lab, x.url)
	}
}

// scrapeAt reads the metrics of an instance. It subtracts heartbeats that were late before the scenario.
func (s *Session) scrapeAt(l *scenario.Lab, url string) truth.Counts {
	reported := steps.Value(compare.Scrape(l.Ctx, url+"/metrics"))
	for series := range reported {
		switch truth.Name(series) {
		case "kubeflap_node_heartbeats_late_total", "kubeflap_node_heartbeats_missed_total":
			reported[series] -= s.late[url][series]
		}
	}
	return reported
}

// startProxy starts a proxy for a kubeflap instance, and writes a kubeconfig that uses this proxy with kubeflap's
// permissions.
func (s *Session) startProxy(name string) (p *proxy.Proxy, kubeconfig string) {
	p = steps.Value(proxy.Start(s.Cluster.Config, steps.Value(cluster.FreePort())))
	s.proxies = append(s.proxies, p)
	kubeconfig = s.account + "." + name
	s.Must(p.Kubeconfig(s.account, kubeconfig))
	return p, kubeconfig
}

// startSeconds starts the additional instances, one for each entry of Options.Seconds. The caller has paused the
// kubelets, so all instances start with the same state.
func (s *Session) startSeconds() {
	for i, delays := range s.options.Seconds {
		name := fmt.Sprintf("kubeflap-%d", i+2)
		p, kubeconfig := s.startProxy(name)
		for resource, by := range delays {
			p.Delay(by, resource)
		}
		s.seconds = append(s.seconds, second{delays, s.startOne(name, kubeconfig)})
	}
	if s.seconds != nil {
		s.Sleep(liveAfter)
	}
}

// waitForSameReports waits until each additional instance reports the same as the first instance.
func (s *Session) waitForSameReports() {
	begin := time.Now()
	for _, x := range s.seconds {
		s.Until(fmt.Sprintf("the kubeflap with %s late to report the same", x.delays), func(l *scenario.Lab) {
			unlike := compare.Unlike(s.scrapeAt(l, s.URL), s.scrapeAt(l, x.url))
			l.Expect(len(unlike) == 0, "%d series differ:\n%s", len(unlike), compare.TableOf("first", "late", unlike))
			checkSameIncidents(l, l.Incidents().Incidents, steps.Value(compare.Incidents(l.Ctx, x.url)).Incidents)
		})
		s.Log.Info("both instances report the same", "late", x.delays, "after", time.Since(begin).Round(time.Millisecond))
	}
}

// checkSameIncidents compares which incidents two instances report. It ignores start times and details, because the
// instances received the events at different times. If an instance first saw another member of an incident, it shows the
// incident by another ID, but must answer to the ID of the other instance.
func checkSameIncidents(l *scenario.Lab, first, late []compare.Incident) {
	rest := slices.Clone(late)
	for _, x := range first {
		i := slices.IndexFunc(rest, func(y compare.Incident) bool { return isSame(x, y) })
		l.Expect(i >= 0, "the incidents differ; first instance:\n%s\ndelayed instance:\n%s", identities(first), identities(late))
		rest = slices.Delete(rest, i, i+1)
	}
	l.Expect(len(rest) == 0, "only the delayed instance reports:\n%s", identities(rest))
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

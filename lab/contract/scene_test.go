package contract

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
)

// scene is a story of a cluster, as in cmd/kubeflap/testdata/stories/README.md, and which alerts fire. Times count from
// an hour after the cluster begins. A line "0 b hang" is what happens to the replica b, which "0 replica b" adds.
type scene struct {
	clustertest.Story
	// file is a recording of what happens. Then, the story has no acts.
	file string
	// fires lists all alerts: "critical ServiceDown shop/web 1m-2m 10m-11m" fires at the earliest after 1 m and at the
	// latest after 2 m, and ends between 10 and 11 m. Without the last period, the end is not checked. Scrapes once a
	// minute may delay an alert by 30 s. may lists permitted alerts.
	fires, may []string
	// pages is how often the pager is notified. news is how often somebody is told of an alert of which nobody was told
	// before. It is not checked if it is 0.
	pages, news int
	// lasts is how long the alerts are watched after the last thing that happens. It is 30 minutes by default.
	lasts time.Duration
	// since is when Prometheus starts with an empty database. By default, it starts with the cluster.
	since time.Duration
	// faults is the number of root causes.
	faults int
	// beside is set if the same Prometheus observes another cluster.
	beside bool
}

// permitted are alerts that accompany others.
var permitted = map[string][]string{
	// Services lose addresses with a node.
	"flap": {"warning ServiceFlapping *"},
	// A critical alert about nodes inhibits these.
	"lose": {"critical ControlPlaneFault -", "warning ControlPlaneFault -", "warning NodeLost *", "warning ServiceBudgetBurning *", "warning ServiceFlapping *"},
}

func sceneOf(t *testing.T, story clustertest.Story) *scene {
	t.Helper()
	x := &scene{Story: story, lasts: 30 * time.Minute, faults: 1}
	duration := func(text string) time.Duration { return time.Duration(try(model.ParseDuration(text))(t)) }
	for _, n := range story.Notes {
		switch n.Word {
		case "fires":
			x.fires = append(x.fires, n.Text)
		case "may":
			x.may = append(append(x.may, n.Text), permitted[n.Text]...)
		case "pages":
			x.pages = try(strconv.Atoi(n.Text))(t)
		case "news":
			x.news = try(strconv.Atoi(n.Text))(t)
		case "faults":
			x.faults = try(strconv.Atoi(n.Text))(t)
		case "lasts":
			x.lasts = duration(n.Text)
		case "since":
			x.since = duration(n.Text)
		case "file":
			x.file = n.Text
		case "beside":
			x.beside = true
		default:
			t.Fatalf("%s: no line begins with %s", x.Name, n.Word)
		}
	}
	return x
}

// intervals lists the usual scrape intervals.
var intervals = [3]time.Duration{15 * time.Second, 30 * time.Second, time.Minute}

// server is a Prometheus. It scrapes and evaluates at the same interval, like most. An evaluation is 5 s before the next
// scrape, which is the worst case.
type server struct {
	*evaluator
	interval time.Duration
	moments  []moment
	alarms   []*alarm
}

// alarm is an alert that fired. to is 0 while it fires.
type alarm struct {
	labels   labels.Labels
	from, to time.Duration
}

// name returns the severity, the name without its prefix, and the object.
func (a *alarm) name() string {
	l := a.labels
	object := cmp.Or(strings.Trim(l.Get("namespace")+"/"+l.Get("service"), "/"), l.Get("node"), "-")
	name := strings.TrimPrefix(l.Get(labels.AlertName), "Kubeflap")
	words := []string{l.Get("severity"), name, object, l.Get("kind"), l.Get("resource"), l.Get("cluster")}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
}

// quietly is the interval between scrapes while nothing happens. Longer ones would let series become stale and alerts
// resolve.
const quietly = 3 * time.Minute

func (x *scene) run(t *testing.T) {
	t.Parallel()
	all := x.tell(t)
	for _, s := range all {
		t.Run("scraped every "+s.interval.String(), func(t *testing.T) {
			x.check(t, s)
		})
	}
}

// tell runs the story, with a Prometheus for each scrape interval.
func (x *scene) tell(t *testing.T) (all []*server) {
	c := x.begin(t)
	for _, interval := range intervals {
		if testing.Short() && interval != time.Minute {
			continue
		}
		all = append(all, &server{evaluator: newEvaluator(t), interval: interval})
	}
	end := x.end(c)
	for at := c.zero.Add(-c.zero.Sub(c.Now).Truncate(5 * time.Second)); at.Before(end); at = at.Add(5 * time.Second) {
		since, busy := at.Sub(c.zero), c.isBusy(at)
		if x.since != 0 && since < x.since {
			continue
		}
		scrapes := slices.DeleteFunc(slices.Clone(all), func(s *server) bool { return since%s.period(busy) != 0 })
		evaluates := slices.DeleteFunc(slices.Clone(all), func(s *server) bool { return (since+5*time.Second)%s.period(busy) != 0 })
		if len(scrapes)+len(evaluates) == 0 {
			continue
		}
		c.runUntil(at)
		if len(scrapes) > 0 {
			c.scrape(at, scrapes)
		}
		for _, s := range evaluates {
			s.evaluates(at, since)
		}
	}
	return all
}

// end returns the time at which the story of a cluster ends.
func (x *scene) end(c *world) time.Time {
	return slices.MaxFunc(c.busy, time.Time.Compare).Add(x.lasts)
}

func (s *server) period(busy bool) time.Duration {
	if busy {
		return s.interval
	}
	return quietly
}

func (w *world) scrape(at time.Time, all []*server) {
	for _, r := range w.replicas {
		g := r.gathered()
		for _, s := range all {
			s.scrape(at, g, r.name, r.target...)
		}
	}
	for _, other := range w.others {
		other.scrape(at, all)
	}
}

func (s *server) evaluates(at time.Time, since time.Duration) {
	m := moment{at: since}
	for _, a := range s.evaluate(at) {
		m.firing = append(m.firing, a.Labels)
	}
	for _, l := range m.firing {
		if !slices.ContainsFunc(s.alarms, func(a *alarm) bool { return a.to == 0 && labels.Equal(a.labels, l) }) {
			s.alarms = append(s.alarms, &alarm{labels: l, from: since})
		}
	}
	for _, a := range s.alarms {
		if a.to == 0 && !slices.ContainsFunc(m.firing, func(l labels.Labels) bool { return labels.Equal(a.labels, l) }) {
			a.to = since
		}
	}
	s.moments = append(s.moments, m)
}

// begin returns the cluster of the story.
func (x *scene) begin(t *testing.T) *world {
	t.Helper()
	if x.file != "" {
		return replayed(t, x.file)
	}
	w := newWorld(x.Cluster(lead.Seconds()))
	for _, a := range slices.Concat(x.Acts, x.Others) {
		a = a.Later(lead.Seconds())
		if w.busyAt(a.At); a.Ends() {
			w.busyAt(a.Until)
		}
	}
	for _, a := range x.Others {
		w.happens(t, a.Later(lead.Seconds()))
	}
	if x.beside {
		quiet := clustertest.Parse("nodes 1")
		other := newWorld(quiet.Cluster(0))
		w.replicas[0].target, other.replicas[0].target = []string{"cluster", "eu"}, []string{"cluster", "us"}
		w.others = append(w.others, other)
	}
	return w
}

var expectedLine = regexp.MustCompile(`^(.+?) (\d\w*)-(\d\w*)(?: (\d\w*)-(\d\w*))?$`)

func (x *scene) check(t *testing.T, s *server) {
	s.checkLabels(t)
	fired := slices.Clone(s.alarms)
	for _, line := range x.fires {
		m := expectedLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("cannot read %q", line)
		}
		i := slices.IndexFunc(fired, func(a *alarm) bool { return a.is(m[1]) })
		if i < 0 {
			t.Errorf("does not fire: %s", line)
			continue
		}
		if !s.fits(fired[i], m[2:]) {
			t.Errorf("fires %s, want %s", fired[i], line)
		}
		fired = slices.Delete(fired, i, i+1)
	}
	fired = slices.DeleteFunc(fired, func(a *alarm) bool { return slices.ContainsFunc(x.may, a.is) })
	for _, a := range fired {
		t.Errorf("unexpected %s", a)
	}
	x.checkNotifications(t, s)
}

// checkLabels checks that each alert has only labels of its rule. The label cluster may be missing.
func (s *server) checkLabels(t *testing.T) {
	for _, r := range alerts(t) {
		for _, a := range s.alarms {
			of := a.labels.Get(labels.AlertName) == r.Alert && a.labels.Get("severity") == r.Rule.Labels["severity"]
			if of && a.labels.MatchLabels(false, append(r.Labels, labels.AlertName)...).Len() > 0 {
				t.Errorf("%s has the labels %s, want %q", a, a.labels, r.Labels)
			}
		}
	}
}

// is reports whether an alert has a name. An asterisk in it stands for anything.
func (a *alarm) is(name string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(a.name())
}

func (a *alarm) String() string { return fmt.Sprintf("%s %s-%s", a.name(), a.from, a.to) }

// fits reports whether an alert begins and ends in two periods.
func (s *server) fits(a *alarm, periods []string) bool {
	var limits [4]time.Duration
	for i, text := range periods {
		if d, err := model.ParseDuration(text); err == nil {
			limits[i] = time.Duration(d)
		}
	}
	if s.interval == time.Minute {
		limits[1] += 30 * time.Second
	}
	if a.from < limits[0] || a.from > limits[1] {
		return false
	}
	return limits[3] == 0 || a.to >= limits[2] && a.to <= limits[3]+2*s.interval
}

// checkNotifications checks that there are few alerts and pages for one fault.
func (x *scene) checkNotifications(t *testing.T, s *server) {
	names, pages, news, last := setOf(), 0, 0, -time.Hour
	known := map[model.Fingerprint]bool{}
	for _, a := range s.alarms {
		names[a.labels.Get(labels.AlertName)] = true
	}
	if len(names) > 3*x.faults {
		t.Errorf("%d alerts fire for one fault: %v", len(names), names)
	}
	for _, m := range notified(t, example(t), s.moments) {
		if slices.ContainsFunc(m.firing, func(l model.LabelSet) bool { return !known[l.Fingerprint()] }) {
			news++
		}
		for _, l := range m.firing {
			known[l.Fingerprint()] = true
		}
		if m.receiver != "pager" || len(m.firing) == 0 {
			continue
		}
		if pages++; m.at-last < 10*time.Minute && x.faults < 2 {
			t.Errorf("pages after %s and after %s", last, m.at)
		}
		last = m.at
	}
	if pages != x.pages || x.news > 0 && news != x.news {
		t.Errorf("%d pages, want %d, and %d notifications, want %d", pages, x.pages, news, x.news)
	}
}

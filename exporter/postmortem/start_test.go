package postmortem

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// beginning is a recording in virtual time. Times are in seconds after noon.
type beginning struct {
	*Observer
	now int
}

// lists returns a recording that begins with lists of these objects.
func lists(objects ...event.Object) *beginning {
	b := &beginning{Observer: NewObserver()}
	b.list(event.Kinds(), objects...)
	return b
}

func (b *beginning) list(kinds []event.Kind, objects ...event.Object) {
	for _, k := range kinds {
		b.note(k, event.Listing)
		for _, o := range objects {
			if o.Kind() == k {
				b.put(event.Listed, o)
			}
		}
		b.note(k, event.Synced)
	}
}

func (b *beginning) at(seconds int) *beginning { b.now = seconds; return b }

func (b *beginning) put(typ event.Type, o event.Object) {
	b.Event(event.Event{Seen: at(b.now), Kind: o.Kind(), Type: typ, Object: o})
}

func (b *beginning) note(k event.Kind, typ event.Type) {
	b.Event(event.Event{Seen: at(b.now), Kind: k, Type: typ})
}

func service(name string) *event.Service {
	return &event.Service{Meta: event.Meta{Namespace: "shop", Name: name}, Type: "ClusterIP"}
}

// slice returns an EndpointSlice. Each letter is an address: r is ready, n is not, and t is terminating.
func slice(name, service, addresses string) *event.EndpointSlice {
	s := &event.EndpointSlice{Meta: event.Meta{Namespace: "shop", Name: name}, Service: service}
	s.Addresses = addressesOf(addresses)
	return s
}

func endpoints(service, addresses string) *event.Endpoints {
	return &event.Endpoints{Meta: event.Meta{Namespace: "shop", Name: service}, Addresses: addressesOf(addresses)}
}

func addressesOf(letters string) (all []event.Address) {
	for i, r := range letters {
		all = append(all, event.Address{UID: event.UID{byte(i + 1)}, Ready: r == 'r', Terminating: r == 't'})
	}
	return all
}

func node(name string, status event.Status) *event.Node {
	return &event.Node{Meta: event.Meta{Name: name}, Ready: &event.Condition{Status: status}}
}

func TestTheStateAtTheStartOfARecording(t *testing.T) {
	only := func(kinds ...event.Kind) []event.Kind { return kinds }
	for name, c := range map[string]struct {
		seen *beginning
		then func(*beginning)
		want string
	}{
		"all ready":       {seen: lists(service("web"), slice("web-1", "web", "rn"), node("node-1", event.StatusTrue))},
		"no address ever": {seen: lists(service("web"), slice("web-1", "web", ""))},
		"not ready to the end": {
			seen: lists(service("web"), slice("web-1", "web", "nn")), want: "shop/web until the end",
		},
		"ready later": {
			seen: lists(service("web"), slice("web-1", "web", "n")),
			then: func(b *beginning) {
				b.at(20).put(event.Modified, slice("web-1", "web", "r"))
				b.at(30).put(event.Modified, slice("web-1", "web", "n"))
			},
			want: "shop/web until 20",
		},
		"without addresses, ready later": {
			seen: lists(service("web")), then: func(b *beginning) { b.at(20).put(event.Added, slice("web-1", "web", "r")) }, want: "shop/web until 20",
		},
		"only terminating addresses": {seen: lists(service("web"), slice("web-1", "web", "t")), want: "shop/web until the end"},
		"ready in another slice":     {seen: lists(service("web"), slice("web-1", "web", "n"), slice("web-2", "web", "r"))},
		"ready in a slice that is added": {
			seen: lists(service("web"), slice("web-1", "web", "n")), then: func(b *beginning) { b.at(20).put(event.Added, slice("web-2", "web", "r")) },
			want: "shop/web until 20",
		},
		"deleted": {
			seen: lists(service("web"), slice("web-1", "web", "n")), then: func(b *beginning) { b.at(20).put(event.Deleted, service("web")) },
			want: "shop/web until 20",
		},
		"created later": {
			seen: lists(), then: func(b *beginning) {
				b.at(20).put(event.Added, service("web"))
				b.put(event.Added, slice("web-1", "web", "n"))
			},
		},
		"ready after a gap": {
			seen: lists(service("web"), slice("web-1", "web", "n")),
			then: func(b *beginning) { b.at(50).list(event.Kinds(), service("web"), slice("web-9", "web", "r")) }, want: "shop/web until 50",
		},
		"deleted in a gap": {
			seen: lists(service("web"), slice("web-1", "web", "n"), node("node-1", event.StatusUnknown)),
			then: func(b *beginning) { b.at(50).list(event.Kinds()) }, want: "shop/web until 50, node-1 until 50",
		},
		"not ready after a gap": {
			seen: lists(service("web"), slice("web-1", "web", "n")),
			then: func(b *beginning) { b.at(50).list(event.Kinds(), service("web"), slice("web-1", "web", "n")) }, want: "shop/web until the end",
		},
		"a node that is not Ready": {
			seen: lists(node("node-1", event.StatusFalse), node("node-2", event.StatusUnknown), node("node-3", event.StatusTrue)),
			then: func(b *beginning) {
				b.at(20).put(event.Modified, node("node-2", event.StatusTrue))
				b.at(30).put(event.Modified, node("node-2", event.StatusUnknown))
			},
			want: "node-1 until the end, node-2 until 20",
		},
		"a node that is deleted": {
			seen: lists(node("node-1", event.StatusFalse)), then: func(b *beginning) { b.at(20).put(event.Deleted, node("node-1", event.StatusFalse)) },
			want: "node-1 until 20",
		},
		"Endpoints instead of slices": {
			seen: &beginning{Observer: NewObserver()},
			then: func(b *beginning) {
				b.note(event.KindEndpointSlice, event.Unavailable)
				b.list(only(event.KindNode, event.KindService, event.KindEndpoints), service("web"), endpoints("web", "n"))
				b.at(20).put(event.Modified, endpoints("web", "r"))
			},
			want: "shop/web until 20",
		},
		"Endpoints beside slices do not count": {seen: lists(service("web"), slice("web-1", "web", "r"), endpoints("web", "n"))},
		"no list of addresses": {
			seen: &beginning{Observer: NewObserver()}, then: func(b *beginning) { b.list(only(event.KindNode), node("node-1", event.StatusTrue)) }, want: "unknown Services",
		},
		"no list of nodes": {
			seen: &beginning{Observer: NewObserver()},
			then: func(b *beginning) { b.list(only(event.KindService, event.KindEndpointSlice)) }, want: "unknown nodes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.then != nil {
				c.then(c.seen)
			}
			if got := told(c.seen.Start()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// told describes a state at the start in a few words.
func told(s *Start) string {
	var all []string
	for _, x := range slices.Concat(s.Services, s.Nodes) {
		text := x.Name + " until the end"
		if x.Namespace != "" {
			text = x.Namespace + "/" + text
		}
		if !x.Until.IsZero() {
			text = strings.Replace(text, "the end", strings.TrimSuffix(x.Until.Sub(noon).String(), "s"), 1)
		}
		all = append(all, text)
	}
	if s.ServicesUnknown {
		all = append(all, "unknown Services")
	}
	if s.NodesUnknown {
		all = append(all, "unknown nodes")
	}
	return strings.Join(all, ", ")
}

func TestAnIntervalWhoseEndWasNotSeenIsALowerLimit(t *testing.T) {
	for unseen, want := range map[bool]string{true: "Longest heartbeat interval (at least: kubeflap did not see it end)", false: "Longest heartbeat interval"} {
		all := figuresOf(&api.Incident{Numbers: api.Numbers{LongestInterval: 106.5, LongestAtLeast: unseen}})
		if len(all) != 1 || all[0] != (fact{Name: want, Value: "106.5s"}) {
			t.Errorf("unseen %v: %+v", unseen, all)
		}
	}
}

// TestAPeriodThatBeginsInsideAnOutage checks that a report does not claim that all Services had ready addresses if an
// outage had begun before the recording.
func TestAPeriodThatBeginsInsideAnOutage(t *testing.T) {
	const none, noneLost = "No Service was without a ready address.", "No Service lost its last ready address."
	down := &Start{Time: at(0), Services: []Unready{{Namespace: "shop", Name: "single", Until: at(105)}}, Nodes: []Unready{{Name: "node-5"}}}
	incidents := []api.Incident{{Subject: "node-5", Scope: "node", Start: at(30), End: new(at(60)), Summary: "It happened."}}
	for name, c := range map[string]struct {
		start     *Start
		damage    string
		from      time.Time
		filter    Filter
		incidents []api.Incident
		has, not  []string
	}{
		"inside an outage": {
			start: down, incidents: incidents,
			has: []string{
				"At the start of the recording (2026-03-01 12:00:00.0 UTC), 1 Service had no ready address: shop/single (until 2026-03-01 12:01:45.0 UTC).",
				"When that began is unknown, so the numbers here do not include it.",
				"At the start of the recording, 1 node was not Ready: node-5 (until the end).", "No other Service was without a ready address.",
			},
			not: []string{none, "12:00:00.0 UTC), 1 node"},
		},
		"without incidents": {
			start: down, has: []string{"kubeflap saw no incidents", "1 Service had no ready address: shop/single", "1 node was not Ready: node-5"}, not: []string{none, "No other"},
		},
		"after it":             {start: down, from: at(110), incidents: incidents, has: []string{none, "1 node was not Ready"}, not: []string{"shop/single"}},
		"another Service":      {start: down, filter: Filter{Namespace: "shop", Service: "web"}, incidents: incidents, has: []string{none}, not: []string{"shop/single", "node-5 ("}},
		"another namespace":    {start: down, filter: Filter{Namespace: "blog"}, incidents: incidents, has: []string{none}, not: []string{"shop/single"}},
		"the Service":          {start: down, filter: Filter{Namespace: "shop", Service: "single"}, incidents: incidents, has: []string{"shop/single (until"}, not: []string{none}},
		"the node":             {start: down, filter: Filter{Node: "node-5"}, incidents: incidents, has: []string{"node-5 (until the end)", noneLost}, not: []string{none, "shop/single"}},
		"another node":         {start: down, filter: Filter{Node: "node-1"}, incidents: incidents, has: []string{noneLost}, not: []string{none, "node-5 ("}},
		"healthy":              {start: &Start{Time: at(0)}, incidents: incidents, has: []string{none}, not: []string{"At the start", "unknown whether"}},
		"addresses not listed": {start: &Start{Time: at(0), ServicesUnknown: true}, incidents: incidents, has: []string{noneLost, "It is unknown whether a Service already had no ready address when the recording began."}, not: []string{none}},
		"nodes not listed":     {start: &Start{Time: at(0), NodesUnknown: true}, incidents: incidents, has: []string{none, "It is unknown whether a node was already not Ready when the recording began."}},
		"a running kubeflap":   {incidents: incidents, has: []string{noneLost, "It is unknown whether a Service already had no ready address when kubeflap began to watch."}, not: []string{none}},
		"damaged": {
			start: &Start{Time: at(0)}, damage: "cut short", incidents: incidents,
			has: []string{"As far as kubeflap saw, no Service was without a ready address.", "the recording is damaged and could only be read until 2026-03-01 12:03:20.0 UTC. Incidents may be missing."},
			not: []string{none, "for the whole period"},
		},
		"damaged, and no incident": {start: &Start{Time: at(0)}, damage: "cut short", has: []string{"the recording is damaged"}, not: []string{"for the whole period"}},
		"running, but no incident": {has: []string{"kubeflap saw no incidents"}, not: []string{"ready address"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := &Input{From: at(0), To: at(200), Filter: c.filter, Start: c.start, Answer: api.Answer{AsOf: at(200), Incidents: c.incidents, Coverage: api.Coverage{Since: new(at(0))}}}
			if c.damage != "" {
				in.Source.Recording = &Recording{Damage: c.damage}
			}
			if !c.from.IsZero() {
				in.From = c.from
			}
			text := strings.Join(documentOf(in).Summary, " ")
			for _, want := range c.has {
				if !strings.Contains(text, want) {
					t.Errorf("there is no %q in\n%s", want, text)
				}
			}
			for _, wrong := range c.not {
				if strings.Contains(text, wrong) {
					t.Errorf("there is %q in\n%s", wrong, text)
				}
			}
		})
	}
}

// TestTheSourceOfARunningKubeflap checks that a report on a running kubeflap does not claim more than it has read: the
// metrics begin with the last start, and nothing contains the version of Kubernetes.
func TestTheSourceOfARunningKubeflap(t *testing.T) {
	in := &Input{To: at(200), Advice: &report.Report{}, Answer: api.Answer{AsOf: at(200), Coverage: api.Coverage{Started: new(at(50))}}}
	d := documentOf(in)
	if want := "The advice uses everything that kubeflap saw from its last start at 2026-03-01 12:00:50.0 UTC until 2026-03-01 12:03:20.0 UTC."; !strings.HasPrefix(d.AdviceNote, want) {
		t.Errorf("got %q, want %q", d.AdviceNote, want)
	}
	if slices.ContainsFunc(d.Made, func(f fact) bool { return f.Name == "Kubernetes" }) {
		t.Errorf("there is a version of Kubernetes in %+v", d.Made)
	}
}

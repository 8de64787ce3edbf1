package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/check"
	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/web"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

const long = 1000 * time.Second

// TestCheckOfStories judges a period of a simulated cluster.
func TestCheckOfStories(t *testing.T) {
	for _, x := range []struct {
		name, story string
		from, to    float64
		allowed     check.Allowances
		// want says which flaps are unexpected, and how many incidents were accepted or had begun before.
		want string
	}{
		{"what was so at the beginning", "0 manual db selector\n0 write db 192.0.2.1\n10 silent 1\n10 crash web/1\n100 kubeflap", 101, 400, check.Allowances{}, "[] 0 2"},
		{"a namespace is deleted, and its pods go first", "200 stop web/*\n200 stop store/1\n203 delete-service web\n205 delete-service store", 100, 400, check.Allowances{Planned: true}, "[] 2 0"},
		{"but only if planned departures are accepted", "200 stop store/1\n205 delete-service store", 100, 400, check.Allowances{}, "[shop/store: no ready address for 5s] 0 0"},
		{"a Service is deleted long after its pods", "200 stop store/1\n240 delete-service store", 100, 400, check.Allowances{Planned: true}, "[shop/store: no ready address for 40s] 0 0"},
		{"a Service that has failed is deleted", "200 unready store/1\n205 delete-service store", 100, 400, check.Allowances{Planned: true}, "[shop/store: no ready address for 5s] 0 0"},
		{"a Service is deleted with its pods, created, and its pods are deleted", "200 stop store/1\n205 delete-service store\n210 create-service store\n210 pod store 2 until 215\n250 evict store/1", 100, 400, check.Allowances{Planned: true}, "[] 1 0"},
		{"many flaps before, and a recovery", "repeat 60 every 5\n    100 crash web/1 for 2\n400 crash web/1 for 20", 410, 450, check.Allowances{}, "[] 0 1"},
		{"many flaps before, and one more", "repeat 60 every 5\n    100 crash web/1 for 2\n400 crash web/1 for 20", 399, 450, check.Allowances{}, "[shop/web: 61 ready addresses lost] 0 0"},
		{"Services without a ready address after many others that keep one", crowded + "100 silent 1 until 200", 90, 400, check.Allowances{Node: long, Service: 5 * time.Second}, "[shop/s48: no ready address for 67.1s] 0 0"},
		{"a node flaps, and many Services lose an address each time", crowded + "repeat 4 every 150\n    100 silent 1 until 170", 90, 900, check.Allowances{Node: time.Minute, Service: long}, "[node-1: not Ready for 2m13s] 0 0"},
		{"a planned departure", "200 cordon 1\n210 drain 1\n300 silent 1 until 900", 100, 1000, check.Allowances{Planned: true}, "[] 1 0"},
		{"a plan that failed", "200 cordon 1\n210 drain 1\n300 silent 1 until 3000", 100, 2000, check.Allowances{Planned: true}, "[node-1: not Ready for 27m28s] 0 0"},
		{"Services that the incident does not list, while the others are ignored", crowded + "0 service s53 1\n0 service s54 1\n" + single + "100 silent 1 until 200", 90, 400, check.Allowances{Node: long, Ignored: []string{"shop/s*"}}, "[65 more Services: no ready address for up to 74.1s] 0 0"},
		{"nodes that the incident does not list, while the others are ignored", "start 130\n" + fleet(129), 90, 400, check.Allowances{Service: long, Ignored: []string{"node-*"}}, "[29 more nodes: not Ready for up to 50.7s] 0 0"},
		{"nodes that the incident does not list, while the others may be not Ready for so long", "start 130\n" + fleet(128) + "100 silent 129 until 290", 90, 400, check.Allowances{Service: long, Node: time.Minute}, "[node-1: not Ready for up to 2m50s] 0 0"},
		{"which may fail for so long", crowded + "100 silent 1 until 200", 90, 400, check.Allowances{Node: long, Service: long}, "[] 1 0"},
	} {
		answer := answerOf(x.story, x.to)
		from := clustertest.Begin.Add(seconds(x.from))
		r := check.Judge(&answer, from, answer.AsOf, &x.allowed)
		flaps := []string{}
		for _, flap := range r.Unexpected {
			flaps = append(flaps, flap.Impact)
		}
		if got := fmt.Sprint(flaps, r.Accepted, r.Earlier); got != x.want {
			t.Errorf("%s: %s, want %s: %s", x.name, got, x.want, r.Text())
		}
		for _, flap := range r.Unexpected {
			if name, _, down := strings.Cut(flap.Impact, ": no ready address"); down && !strings.Contains(name, " more ") && flap.ServicesLeftOut > 0 && !strings.Contains(flap.Summary, " and "+name+" had none") {
				t.Errorf("%s: %s, but the summary is %s", x.name, flap.Impact, flap.Summary)
			}
		}
	}
}

// TestCheckOfAPastPeriod judges periods of an incident that went on later.
func TestCheckOfAPastPeriod(t *testing.T) {
	for story, want := range map[string]map[[2]float64]int{
		"100 crash web/1 for 5\n190 crash web/1 for 5":   {{95, 120}: 1, {120, 170}: 0, {102, 170}: 0, {170, 195}: 1, {120, 400}: 1},
		"100 silent 1 until 160\n230 silent 1 until 290": {{95, 120}: 0, {95, 150}: 1, {125, 150}: 1, {175, 220}: 0, {245, 270}: 1, {232, 300}: 1},
	} {
		answer := answerOf(story, 600)
		for period, n := range want {
			r := check.Judge(&answer, clustertest.Begin.Add(seconds(period[0])), clustertest.Begin.Add(seconds(period[1])), &check.Allowances{})
			if len(r.Unexpected) != n {
				t.Errorf("%s: %v: %d, want %d: %s", story, period, len(r.Unexpected), n, r.Text())
			}
		}
	}
}

// TestCheckNamesEachFlap judges two flaps of one Service. Most readers of JUnit reports show one test for each name.
func TestCheckNamesEachFlap(t *testing.T) {
	answer := answerOf("200 crash store/1 for 20\n500 crash store/1 for 20", 800)
	r := check.Judge(&answer, clustertest.Begin.Add(seconds(100)), answer.AsOf, &check.Allowances{})
	text := r.JUnit()
	for _, want := range []string{`<testsuite name="kubeflap" tests="3" failures="2"`, `name="ReplicaSet shop/store-1"`, `name="ReplicaSet shop/store-1 (2)"`, `name="coverage"`} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%s is missing, or not unique: %s", want, text)
		}
	}
}

// TestCheckOfPodsThatGoAgainAndAgain judges a period that begins after the first of them. The timeline does not show their
// addresses, but may show another one, which never comes back.
func TestCheckOfPodsThatGoAgainAndAgain(t *testing.T) {
	for _, x := range []struct {
		first, others transition.AddressLost
	}{
		{transition.AddressLost{Cause: cause.PodDeleted}, transition.AddressLost{Cause: cause.PodDeleted}},
		{transition.AddressLost{Cause: cause.Unknown}, transition.AddressLost{Cause: cause.Unknown, Vanished: true}},
	} {
		log, at := correlate.New(1), func(second int) time.Time { return clustertest.Begin.Add(seconds(float64(second))) }
		lose := func(x transition.AddressLost, i int) {
			x.Time, x.Removed, x.Losses, x.Of = at(10*i), true, 4, 3
			x.Service, x.Pod = transition.Service{Namespace: "shop", Name: "web"}, transition.Pod{Namespace: "shop", Name: fmt.Sprint("web-", i), Owner: "StatefulSet/web"}
			x.ID = event.ParseUID(x.Pod.Name)
			log.Observe(x)
		}
		lose(x.first, 0)
		for i := range 9 {
			lose(x.others, i+1)
		}
		for _, want := range []string{"0 0", "1 0"} { // the last one goes in the second period
			answer := api.Answer{AsOf: at(120), Coverage: api.Coverage{Since: phrase.Time{Time: at(0)}}, Incidents: log.Incidents(at(120))}
			r := check.Judge(&answer, at(91), at(120), &check.Allowances{Planned: true})
			if got := fmt.Sprint(len(r.Unexpected), r.Earlier); got != want {
				t.Errorf("%v: %s flaps, want %s: %s", x.others.Cause, got, want, r.Text())
			}
			lose(x.others, 10)
		}
		answer := api.Answer{AsOf: at(120), Coverage: api.Coverage{Since: phrase.Time{Time: at(0)}}, Incidents: log.Incidents(at(120))}
		if r := check.Judge(&answer, at(91), at(95), &check.Allowances{Planned: true}); r.Passed() {
			t.Errorf("%v: passed, but nothing shows that the last address did not go in this period", x.others.Cause)
		}
	}
}

// crowded tells of a cluster in which the Services that lose an address first keep another one.
var crowded = func() string {
	text := "start 2\n"
	for i := range 53 {
		name := fmt.Sprintf("0 service s%02d 1", i)
		if i < 48 {
			name += " 2"
		}
		text += name + "\n"
	}
	return text
}()

// single tells of Services with a single address on the first node.
var single = func() (text string) {
	for i := range 58 {
		text += fmt.Sprintf("0 service s%d 1\n", 100+i)
	}
	return text
}()

// fleet tells of a number of nodes that fall silent.
func fleet(nodes int) (text string) {
	for i := range nodes {
		text += fmt.Sprintf("100 silent %d until 170\n", i+1)
	}
	return text
}

// answerOf returns what kubeflap answers at a second of a story.
func answerOf(story string, second float64) api.Answer {
	x := clustertest.Parse(story)
	c := x.Cluster(0)
	p := newPipeline(trackerSettings(), func() time.Time { return c.Now }, silent)
	c.Watchers[0].Sink = p.apply
	c.Start()
	for c.Second() < second {
		c.RunUntil(min(second, c.Second()+0.5))
		p.tick()
	}
	return web.Answer([]web.Cluster{p.cluster()}, &api.Query{})
}

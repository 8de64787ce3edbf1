package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// TestSentencesAboutRecordings checks the sentences about recordings that no other test replays.
func TestSentencesAboutRecordings(t *testing.T) {
	for _, file := range recorded(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			clock := recording.NewClock(0)
			p := newPipeline(trackerSettings(), clock.Now, silent)
			play(t, file, clock, p.apply)
			checkSentences(t, p)
		})
	}
}

var (
	// settingValues matches numbers that are values of settings, and may be zero.
	settingValues = regexp.MustCompile(`scaled to 0|tolerationSeconds 0|maxUnavailable 0|--[a-z-]+=0`)
	zeroNumber    = regexp.MustCompile(`(^|[ (])0(ms|s|m)?([ ,;.)]|$)`)
	someNodes     = regexp.MustCompile(`(\d+)(?: of (?:the other )?(\d+))?(?: silent| other)? nodes?\b`)
	// lasting matches durations of what happened, without grace periods and batching windows.
	lasting = regexp.MustCompile(`(?:no heartbeat|none|address|Unknown|together,|True|waited|out) (?:for )?(?:up to |at least |about )*(\d[\dhms.]*[hms])\b|` +
		`(?:resumed after|again after|address again, after|evicted) (?:up to |about )?(\d[\dhms.]*[hms])\b`)
	// forbidden matches what no sentence may say.
	forbidden = regexp.MustCompile(`on other nodes|departure of the nodes|from True to Unknown|less than 1ms after|[Ff]ind out why (the machine|the kubelet|node)`)
	// opposes matches advice against a longer grace period.
	opposes = regexp.MustCompile(`do not change the grace|[Ll]eave the grace period|only hide|only have delayed|long enough`)
)

// checkSentences checks the numbers in all sentences about the incidents of a pipeline and in its advice, and that no
// sentence about the grace period contradicts another one.
func checkSentences(t *testing.T, p *pipeline) {
	t.Helper()
	incidents := shownBy(p)
	names := map[string]bool{}
	for _, n := range p.tracker.Nodes(p.now(), nil) {
		names[n.Name] = true
	}
	for i := range incidents {
		for _, n := range incidents[i].Nodes {
			names[n] = true
		}
	}
	texts := map[string]string{}
	for i := range incidents {
		x := &incidents[i].Incident
		for j, text := range sentencesOf(x) {
			texts[fmt.Sprintf("incident %s, sentence %d", x.ID, j)] = text
		}
		checkDurations(t, x, p.now())
	}
	given, err := p.advice()
	if err != nil {
		return // the first lists are not complete
	}
	var aboutGrace []string
	for _, f := range given.Recommendations {
		for j, text := range []string{f.Set, f.Observed, f.Advice, f.Why} {
			texts[fmt.Sprintf("finding %s, sentence %d", f.Kind, j)] = text
		}
		if strings.HasPrefix(f.Kind, "grace_period") {
			aboutGrace = append(aboutGrace, f.Kind)
		}
	}
	if len(aboutGrace) > 1 {
		t.Errorf("several findings about the grace period: %q", aboutGrace)
	}
	for where, text := range texts {
		checkNumbers(t, where, text, len(names))
		if strings.Contains(text, "etcd accepted writes") && strings.Contains(text, "did not answer") {
			t.Errorf("%s contradicts itself: %s", where, text)
		}
		if words := opposes.FindString(text); words != "" && given.Heartbeats.Recommended > given.Heartbeats.Grace {
			t.Errorf("%s says %q, but a grace period of %s is recommended: %s", where, words, given.Heartbeats.Recommended, text)
		}
	}
}

// sentencesOf returns all sentences about an incident.
func sentencesOf(x *incident.Incident) []string {
	all := append([]string{x.Summary, x.Remedy, x.Hit()}, x.Figures()...)
	for _, h := range x.Considered {
		all = append(all, h.Because)
	}
	for _, e := range x.Evidence {
		all = append(all, e.Text)
	}
	for i := range x.Services {
		all = append(all, x.Services[i].Effect())
	}
	return all
}

// checkNumbers checks that a sentence has no zero, and does not count more nodes than there are.
func checkNumbers(t *testing.T, where, text string, nodes int) {
	t.Helper()
	if zeroNumber.MatchString(settingValues.ReplaceAllString(text, "")) {
		t.Errorf("%s: a number is zero: %s", where, text)
	}
	if words := forbidden.FindString(text); words != "" {
		t.Errorf("%s: %q in: %s", where, words, text)
	}
	for _, m := range someNodes.FindAllStringSubmatch(text, -1) {
		some, _ := strconv.Atoi(m[1])
		of, err := strconv.Atoi(m[2])
		if err != nil {
			of = nodes
		}
		if some > of || of > nodes {
			t.Errorf("%s: %q, but the cluster has %d nodes: %s", where, m[0], nodes, text)
		}
	}
}

// checkDurations checks that nothing in an incident lasted longer than the time from its first observation to its end.
func checkDurations(t *testing.T, x *incident.Incident, now time.Time) {
	t.Helper()
	const monitorPeriod = 5 * time.Second
	from, to := x.Start.Add(-time.Duration(x.Numbers.GracePeriod)-monitorPeriod), cmp.Or(x.End.Time, now) // an incident begins after the grace period
	for _, e := range x.Evidence {
		if e.Time.Before(from) {
			from = e.Time
		}
		if e.Until.After(to) {
			to = e.Until
		}
	}
	for i, text := range sentencesOf(x) {
		if i == 1 {
			continue // remedies name settings
		}
		for _, m := range lasting.FindAllStringSubmatch(text, -1) {
			d := m[1] + m[2]
			if days, rest, ok := strings.Cut(d, "d"); ok {
				n, _ := strconv.Atoi(days)
				d = fmt.Sprintf("%dh", 24*n)
				_ = rest
			}
			lasted, err := time.ParseDuration(d)
			if err != nil {
				t.Errorf("incident %s: %q is no duration: %s", x.ID, d, text)
			}
			if lasted > to.Sub(from)+to.Sub(from)/100+time.Second {
				t.Errorf("incident %s lasted %s, but: %s", x.ID, to.Sub(from), text)
			}
		}
	}
}

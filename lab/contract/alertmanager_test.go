package contract

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/eventrecorder"
	"github.com/prometheus/alertmanager/featurecontrol"
	"github.com/prometheus/alertmanager/inhibit"
	"github.com/prometheus/alertmanager/marker"
	"github.com/prometheus/alertmanager/nflog"
	"github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/alertmanager/provider/mem"
	"github.com/prometheus/alertmanager/silence"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/alertmanager/timeinterval"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// moment is one evaluation of all rules. It holds the time since the start and the alerts that fire.
type moment struct {
	at     time.Duration
	firing []labels.Labels
}

// message is one notification. It contains resolved alerts only if the receiver has send_resolved.
type message struct {
	at               time.Duration
	receiver         string
	firing, resolved []model.LabelSet
}

// example loads the shipped Alertmanager configuration.
func example(t *testing.T) *config.Config {
	t.Helper()
	conf := try(config.LoadFile(RulePath("alertmanager.yaml")))(t)
	return conf
}

// notified returns the notifications that Alertmanager sends for the given alerts. It runs Alertmanager's own code for
// routing, grouping, inhibition and repetition, with other receivers. It runs in a synctest bubble.
func notified(t *testing.T, conf *config.Config, moments []moment) (sent []message) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		alerts, stop := startAlertmanager(t, conf, func(receiver string, all []*alert.Alert) {
			m := message{at: time.Since(start), receiver: receiver}
			for _, a := range all {
				if a.Resolved() {
					m.resolved = append(m.resolved, a.Labels)
				} else {
					m.firing = append(m.firing, a.Labels)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, m)
		})
		defer stop()
		active := map[model.Fingerprint]*alert.Alert{}
		for _, x := range moments {
			time.Sleep(time.Until(start.Add(x.at)))
			send(t, alerts, active, x.firing)
		}
		time.Sleep(5 * time.Minute)
	})
	return sent
}

// send sends alerts as Prometheus does after an evaluation. It sends the alerts that fire, and those that have stopped
// firing.
func send(t *testing.T, to *mem.Alerts, active map[model.Fingerprint]*alert.Alert, firing []labels.Labels) {
	now := time.Now()
	var all []*alert.Alert
	still := map[model.Fingerprint]bool{}
	for _, l := range firing {
		set := model.LabelSet{}
		l.Range(func(x labels.Label) {
			if x.Value != "" {
				set[model.LabelName(x.Name)] = model.LabelValue(x.Value)
			}
		})
		a := active[set.Fingerprint()]
		if a == nil {
			a = &alert.Alert{Alert: model.Alert{Labels: set, StartsAt: now}}
			active[set.Fingerprint()] = a
		}
		still[set.Fingerprint()] = true
		a.EndsAt = now.Add(4 * time.Minute)
	}
	for id, a := range active {
		if !still[id] {
			a.EndsAt = now
			delete(active, id)
		}
		sent := *a
		sent.UpdatedAt = now
		all = append(all, &sent)
	}
	if err := to.Put(t.Context(), all...); err != nil {
		t.Error(err)
	}
}

// startAlertmanager starts the parts of Alertmanager that receive alerts and send notifications.
func startAlertmanager(t *testing.T, conf *config.Config, sent func(receiver string, all []*alert.Alert)) (*mem.Alerts, func()) {
	t.Helper()
	log, registry, flags, events := slog.New(slog.DiscardHandler), prometheus.NewRegistry(), featurecontrol.NoopFlags{}, eventrecorder.NopRecorder()
	silences := try(silence.New(silence.Options{Retention: time.Hour, Logger: log, Metrics: registry, EventRecorder: events}))(t)
	notifications := try(nflog.New(nflog.Options{Retention: 120 * time.Hour, Logger: log, Metrics: registry}))(t)
	silencer := silence.NewSilencer(silences, log, events)
	alerts := try(mem.NewAlerts(t.Context(), 30*time.Minute, 0, silencer, log, events, registry, flags))(t)
	receivers := map[string][]notify.Integration{}
	for _, r := range conf.Receivers {
		resolved := r.Name == "chat" && r.SlackConfigs[0].SendResolved() || r.Name == "pager" && r.WebhookConfigs[0].SendResolved()
		receivers[r.Name] = []notify.Integration{notify.NewIntegration(receiver{r.Name, sent}, sendsResolved(resolved), r.Name, 0, r.Name)}
	}
	inhibitor := inhibit.NewInhibitor(alerts, conf.InhibitRules, log, events)
	groups, routes := marker.NewGroupMarker(), dispatch.NewRoute(conf.Route, nil)
	pipeline := notify.NewPipelineBuilder(registry, flags, events).New(receivers, func() time.Duration { return 0 }, inhibitor, silencer,
		timeinterval.NewIntervener(nil), groups, notifications, nil)
	tmpl := try(template.New())(t)
	dispatcher := dispatch.NewDispatcher(alerts, routes, pipeline, groups, func(d time.Duration) time.Duration { return max(d, notify.MinTimeout) },
		30*time.Second, nil, log, events, dispatch.NewDispatcherMetrics(false, registry, flags), tmpl)
	go inhibitor.Run()
	inhibitor.WaitForLoading()
	go dispatcher.Run(time.Now())
	dispatcher.WaitForLoading()
	return alerts, func() {
		dispatcher.Stop()
		inhibitor.Stop()
		alerts.Close()
	}
}

// receiver replaces a receiver of Alertmanager, such as a pager or a chat.
type receiver struct {
	name string
	sent func(receiver string, all []*alert.Alert)
}

func (r receiver) Notify(_ context.Context, all ...*alert.Alert) (bool, error) {
	r.sent(r.name, all)
	return false, nil
}

type sendsResolved bool

func (s sendsResolved) SendResolved() bool { return bool(s) }

package incident

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Service describes the effect of an incident on a Service.
type Service struct {
	Namespace string `json:"namespace"`
	Name      string `json:"service"`
	Lost      int    `json:"addresses_lost"`
	Bounces   int    `json:"addresses_back"`
	Outages   int    `json:"outages"`
	// OutageClass is the class of an outage.
	OutageClass string `json:"outage_class,omitempty"`
	// OutageTime is the time without any ready address, including the current outage.
	OutageTime phrase.Seconds `json:"outage_seconds"`
	// Down reports whether the Service currently has no ready address.
	Down bool `json:"down"`
	// Deleted reports whether the Service was deleted in an outage, and had no other outage since then.
	Deleted bool `json:"deleted,omitempty"`
	// AtLeast and AtMost are the limits of OutageTime if kubeflap did not see when an outage started or ended. Otherwise,
	// an Incident omits them.
	AtLeast phrase.Seconds `json:"outage_seconds_at_least,omitempty"`
	AtMost  phrase.Seconds `json:"outage_seconds_at_most,omitempty"`

	// Wait is what the Service waits for. The list waited holds what it waited for before, in this outage.
	Wait   transition.Wait `json:"-"`
	waited []Waited
	// The array classes counts the outages by class. An ongoing one has the class that it began with.
	classes [cause.NumClasses]int
}

// take adds the effect of another incident on the Service.
func (s *Service) take(e *Service) {
	s.Lost, s.Bounces = s.Lost+e.Lost, s.Bounces+e.Bounces
	s.Wait, s.waited = cmp.Or(s.Wait, e.Wait), append(s.waited, e.waited...)
	s.Outages, s.Deleted = s.Outages+e.Outages, s.Deleted || e.Deleted
	s.addOutage(e.OutageTime, e.AtLeast, e.AtMost)
	for class, n := range e.classes {
		s.classes[class] += n
	}
}

func (s *Service) addOutage(lasted, atLeast, atMost phrase.Seconds) {
	s.OutageTime, s.AtLeast, s.AtMost = s.OutageTime+lasted, s.AtLeast+atLeast, s.AtMost+atMost
}

// asOf returns the effect as of now. The outage is nil if the Service has a ready address.
func (s Service) asOf(now time.Time, outage *Span) Service {
	if s.Down = outage != nil; s.Down {
		lasted := phrase.Seconds(max(now.Sub(outage.Start), 0))
		s.addOutage(lasted, lasted, lasted)
	}
	if s.AtLeast == s.AtMost {
		s.AtLeast, s.AtMost = 0, 0
	}
	if i := slices.IndexFunc(s.classes[:], func(n int) bool { return n > 0 }); i >= 0 {
		s.OutageClass = cause.Class(i).String()
	}
	return s
}

// String returns the namespace and the name of the Service.
func (s Service) String() string { return s.Namespace + "/" + s.Name }

// Effect describes the incident's effect on the Service. It is empty if there was none, because it may still follow.
func (s Service) Effect() string {
	if s.Lost == 0 && s.Outages == 0 && !s.Down {
		return ""
	}
	text := "lost " + phrase.Count(s.Lost, "ready address", "ready addresses")
	if s.Bounces > 0 {
		text += fmt.Sprintf(", %d came back", s.Bounces)
	}
	switch down := s.DownFor(); {
	case (s.Down || s.Outages > 0) && down == phrase.Duration(0):
		text += "; no ready address for a moment"
	case s.Down || s.Outages > 0:
		text += "; no ready address for " + down
	}
	if s.Outages > 1 {
		text += fmt.Sprintf(" in %d outages", s.Outages)
	}
	if s.Down {
		text += ", and none now"
	}
	return text
}

// DownFor returns how long the Service had no ready address.
func (s Service) DownFor() string {
	if s.AtMost > 0 {
		return phrase.Range(time.Duration(s.AtLeast), time.Duration(s.AtMost))
	}
	return s.OutageTime.String()
}

// BeginOutage counts an outage of a class that began at t.
func (f *Facts) BeginOutage(x transition.Service, t time.Time, class cause.Class) {
	f.Outages++
	e := f.EffectOn(x)
	e.Deleted = false
	e.Outages++
	e.classes[class]++
	f.effects.moveUp(x, MaxServices, (*Service).hasNoOutage) // so that the incident shows it
	f.Fails(OpenOutage(x), t)
}

func (s *Service) hasNoOutage() bool { return s.Outages == 0 }

// EndOutage records that an outage that began at a time ended at t. It began with one class, and has another one now. It
// lasted from atLeast to atMost.
func (f *Facts) EndOutage(x transition.Service, began, t time.Time, was, class cause.Class, atLeast, atMost time.Duration) {
	lasted := phrase.Seconds(max(t.Sub(began), 0))
	f.OutageTime += lasted
	e := f.EffectOn(x)
	e.addOutage(lasted, phrase.Seconds(atLeast), phrase.Seconds(atMost))
	e.classes[was]--
	e.classes[class]++
	e.endWait(t)
	for _, w := range e.waited {
		f.Evidence.Add(w.Entry())
		if w.Lasted > f.waited.Lasted {
			f.waited = w
		}
	}
	e.waited = nil
	f.Recovers(OpenOutage(x), t)
}

// WaitsFor records that a Service without a ready address waits for w. If nothing is known to be missing, w is zero since t.
func (f *Facts) WaitsFor(x transition.Service, w transition.Wait, t time.Time) {
	e := f.EffectOn(x)
	if w.Kind != "" {
		t = w.Since
	}
	e.endWait(t)
	e.Wait = w
}

// endWait adds the current wait to those of the outage. It continues an earlier wait of the same kind and pod.
func (s *Service) endWait(t time.Time) {
	w := Waited{transition.Service{Namespace: s.Namespace, Name: s.Name}, s.Wait, max(t.Sub(s.Wait.Since), 0)}
	if s.Wait = (transition.Wait{}); w.Kind == "" {
		return
	}
	s.waited = slices.DeleteFunc(s.waited, func(was Waited) bool {
		again := was.Kind == w.Kind && was.UID == w.UID
		if again {
			w.Lasted, w.Since = was.Lasted+w.Lasted, was.Since
		}
		return again
	})
	s.waited = append(s.waited, w)
}

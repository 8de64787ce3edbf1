package track

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// tell adds the new transitions to the text.
func (p *teller) tell() {
	for _, x := range p.found[p.told:] {
		switch x := x.(type) {
		case transition.GracePeriodKnown:
			continue
		case transition.HeartbeatSeen:
			if p.heard[x.Node] == x.Interval {
				continue
			}
			p.heard[x.Node] = x.Interval
		}
		at := ""
		if !x.When().Equal(p.now) || p.late > 0 {
			at = fmt.Sprintf("%g: ", x.When().Sub(zero).Seconds())
		}
		p.out = append(p.out, "  > "+at+strings.Replace(x.String(), "shop/", "", 1)+p.unsaid(x))
	}
	p.told = len(p.found)
}

// look adds the states that have changed since the last look.
func (p *teller) look() {
	states := p.states()
	p.Advance(time.Time{})
	p.tell()
	for what, is := range sortedByName(states) {
		var changed []field
		for _, x := range is {
			if !slices.Contains(p.shown[what], x) {
				changed = append(changed, x)
			}
		}
		for _, x := range p.shown[what] {
			if !slices.ContainsFunc(is, func(y field) bool { return x.name == y.name }) {
				changed = append(changed, field{x.name, ""})
			}
		}
		if text := textOfFields(changed); text != "" {
			p.out = append(p.out, "  = "+what+text)
		}
	}
	for what := range sortedByName(p.shown) {
		if _, still := states[what]; !still {
			p.out = append(p.out, "  = "+what+" is gone")
		}
	}
	p.shown = states
}

// states returns the answers of the tracker, by what they are about.
func (p *teller) states() map[string][]field {
	all := map[string][]field{}
	for _, x := range p.Services(p.now, nil) {
		all["service "+x.Name] = fieldsOf(x)
	}
	for _, x := range p.OutageStarts(p.now, nil) {
		start := "none"
		if !x.Start.IsZero() {
			start = fmt.Sprintf("%g", x.Start.Sub(zero).Seconds())
		}
		all[fmt.Sprint("outage ", x.Name, " ", x.Class)] = []field{{"start", start}}
	}
	for _, x := range p.Nodes(p.now, nil) {
		if len(all) > 0 { // stories about Services leave out how old heartbeats are
			x.HeartbeatAge, x.LongestInterval, x.ClockKnown, x.ClockOffset = 0, 0, false, 0
		}
		all["node "+x.Name] = fieldsOf(x)
	}
	for _, x := range p.Namespaces(p.now, nil) {
		name := x.Name
		x.Name = ""
		all["namespace "+name] = fieldsOf(x)
	}
	for _, x := range p.Watches(p.now, nil) {
		all["watch "+x.Resource.String()] = fieldsOf(x)
	}
	table := field{}
	for _, x := range p.GraceTable(p.now).Rows {
		table.text += " " + x.Silences.String()
		if x.Addresses.AtMost > 0 {
			table.text += "/" + x.Addresses.String()
		}
	}
	if strings.Trim(table.text, " 0") != "" {
		all["grace periods"] = []field{{"silences", table.text[1:]}}
	}
	all["tracker"] = fieldsOf(struct {
		Grace               controlplane.Setting
		Source              event.Kind
		Synced, Behind      bool
		NotWatched, Unready []event.Kind
		ToRead              []string
	}{
		p.GracePeriod(), p.AddressSource(), p.Synced(), p.LeasesBehind(p.now), resources(p.notWatched()), resources(p.Unready(p.now)), p.LeasesToRead(p.now),
	})
	return all
}

func resources(some []watches.Watch) (all []event.Kind) {
	for _, w := range some {
		all = append(all, w.Resource)
	}
	return all
}

// field is a field of a state or a transition that is not zero, as text.
type field struct{ name, text string }

func textOfFields(all []field) (text string) {
	for _, x := range all {
		text += " " + x.name
		if x.text != "true" {
			text += "=" + x.text
		}
	}
	return text
}

// obvious are fields of states whose values are in almost each line.
var obvious = []string{"Time", "ClassSince", "Namespace", "Name", "Resource", "LastEvent", "Events"}

// said are fields of transitions that sentences contain, or that are hashes.
var said = []string{
	"Waited", "Node", "Pod", "Owner", "IP", "ID", "Cause", "Why", "From", "To", "Lasted", "AtLeast", "AtMost", "Complete", "Interval", "Silence", "Count", "Ready", "Object", "Withdrawn", "Resource", "Name",
	"Away", "AtMost", "Delay", "Window", "Stale", "Reason", "Blind", "Since", "Loss.GracePeriod", "Loss.Renewed",
}

// unsaid returns the fields of a transition that its sentence does not contain. Of a trigger, which is
// a hash, it returns a number if another transition had the same one.
func (p *teller) unsaid(x transition.Transition) string {
	v := reflect.ValueOf(x)
	var rest []field
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if v.Type().Field(i).Anonymous && name != "At" {
			continue
		}
		for _, f := range fieldsOf(v.Field(i).Interface()) {
			f.name = strings.TrimSuffix(name+"."+f.name, ".")
			if strings.HasSuffix(f.name, "Trigger") {
				if !slices.Contains(p.triggers, f.text) {
					p.triggers = append(p.triggers, f.text)
					continue
				}
				f.text = fmt.Sprint(slices.Index(p.triggers, f.text) + 1)
			}
			if !slices.Contains(said, f.name) && name != "At" {
				rest = append(rest, f)
			}
		}
	}
	if rest == nil {
		return ""
	}
	return " [" + strings.TrimSpace(textOfFields(rest)) + "]"
}

// fieldsOf returns the fields of a value that are not zero.
func fieldsOf(x any) (all []field) {
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		if _, isStatus := valueOf(v).(event.Status); !v.IsValid() || v.IsZero() && !isStatus || slices.Contains(obvious, path) {
			return
		}
		if text, ok := leaf(v); ok {
			all = append(all, field{path, text})
			return
		}
		join := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
		switch v.Kind() {
		case reflect.Pointer:
			walk(v.Elem(), path)
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.Anonymous {
					walk(v.Field(i), path)
				} else {
					walk(v.Field(i), join(f.Name))
				}
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				walk(v.Index(i), join(indexName(v, i)))
			}
		}
	}
	walk(reflect.ValueOf(x), "")
	return all
}

func valueOf(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

// indexName names the index of an array of counters by cause, class or status.
func indexName(v reflect.Value, i int) string {
	switch {
	case v.Kind() == reflect.Array && v.Len() == int(cause.Count):
		return cause.Cause(i).String()
	case v.Kind() == reflect.Array && v.Len() == int(cause.NumClasses):
		return cause.Class(i).String()
	case v.Kind() == reflect.Array && v.Len() == 3:
		return event.Status(i).String()
	}
	return strconv.Itoa(i)
}

func leaf(v reflect.Value) (string, bool) {
	switch x := v.Interface().(type) {
	case time.Time:
		return fmt.Sprintf("%g", x.Sub(zero).Seconds()), true
	case event.UID:
		return x.String()[:4], true
	case fmt.Stringer:
		return x.String(), true
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return "", false
	case reflect.String:
		if strings.ContainsAny(v.String(), " ") {
			return strconv.Quote(v.String()), true
		}
	}
	return fmt.Sprint(v.Interface()), true
}

// sortedByName iterates over a map in the order of its keys.
func sortedByName[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

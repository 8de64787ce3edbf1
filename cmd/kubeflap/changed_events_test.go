package main

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Recordings can be changed in ways that must not change kubeflap's answers, and in ways that must. Each change takes the
// events of a recording, and returns other events. It does not modify the objects, because several changes share them.

// edited returns events with copies of the objects. edit gets each text, time and UID in a copy, with the name of its field.
func edited(events []event.Event, edit func(field string, value reflect.Value)) []event.Event {
	all := slices.Clone(events)
	for i := range all {
		if all[i].Object != nil {
			o := reflect.New(reflect.TypeOf(all[i].Object).Elem())
			o.Elem().Set(reflect.ValueOf(all[i].Object).Elem())
			editPart(o.Elem(), "", edit)
			all[i].Object = o.Interface().(event.Object)
		}
	}
	return all
}

func editPart(part reflect.Value, field string, edit func(string, reflect.Value)) {
	switch {
	case part.Type() == reflect.TypeFor[time.Time](), part.Type() == reflect.TypeFor[event.UID](), part.Kind() == reflect.String:
		edit(field, part)
	case part.Kind() == reflect.Struct:
		for i := range part.NumField() {
			editPart(part.Field(i), part.Type().Name()+"."+part.Type().Field(i).Name, edit)
		}
	case part.Kind() == reflect.Pointer && !part.IsNil():
		whole := reflect.New(part.Type().Elem())
		whole.Elem().Set(part.Elem())
		part.Set(whole)
		editPart(whole.Elem(), field, edit)
	case part.Kind() == reflect.Slice:
		part.Set(reflect.AppendSlice(reflect.Zero(part.Type()), part))
		for i := range part.Len() {
			editPart(part.Index(i), field, edit)
		}
	case part.Kind() == reflect.Map && !part.IsNil():
		whole := reflect.MakeMap(part.Type())
		for _, key := range part.MapKeys() {
			value := reflect.New(part.Type().Elem()).Elem()
			value.Set(part.MapIndex(key))
			edit(field+" "+key.String(), value)
			whole.SetMapIndex(key, value)
		}
		part.Set(whole)
	}
}

// shifted returns the events as if all clocks were ahead: kubeflap's, and those of the nodes and the control plane.
func shifted(events []event.Event, ahead time.Duration) []event.Event {
	all := edited(events, func(_ string, v reflect.Value) {
		if t, ok := v.Interface().(time.Time); ok && !t.IsZero() {
			v.Set(reflect.ValueOf(t.Add(ahead)))
		}
	})
	for i := range all {
		all[i].Seen = all[i].Seen.Add(ahead)
	}
	return all
}

// keptWords are the fields with the words of Kubernetes and of its clients, which are no names of objects.
var keptWords = []string{
	"Meta.ResourceVersion", "Node.KubeletVersion", "Taint.Key", "Taint.Value", "Taint.Effect", "LifecycleCondition.Type", "LifecycleCondition.Reason",
	"Problem.Type", "Problem.Reason", "Problem.Message", "Condition.Reason", "Condition.Message", "Pod.Phase", "Pod.Reason", "Pod.Disruption", "Container.State",
	"Container.Reason", "Container.Message", "ControllerManager.Version", "Service.Type", "EndpointSlice.ManagedBy", "EndpointSlice.Writer", "Endpoints.Writer",
	"Endpoints.OtherWriter", "Cluster.Version",
}

// renamed returns the events of the same cluster whose objects have other names, addresses and UIDs. Their order is another
// one: the first node may be the last one now.
func renamed(events []event.Event) []event.Event {
	return edited(events, func(field string, v reflect.Value) {
		switch x := v.Interface().(type) {
		case event.UID:
			for i := range x {
				x[i] = ^x[i]
			}
			if !v.IsZero() {
				v.Set(reflect.ValueOf(x))
			}
		case string:
			if !slices.Contains(keptWords, field) {
				v.SetString(otherName(x))
			}
		}
	})
}

// otherName returns another name for a name, and the name for the other one. Characters that a template hash may have
// become such characters.
func otherName(name string) string {
	if ip, err := netip.ParseAddr(name); err == nil {
		b := ip.AsSlice()
		for i := 1; i < len(b); i++ {
			b[i] = ^b[i]
		}
		other, _ := netip.AddrFromSlice(b)
		return other.String()
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		rest, isServer := strings.CutPrefix(part, event.LeaseAPIServerPrefix)
		switch {
		case strings.HasPrefix(part, "kube-"), strings.HasSuffix(part, ":"), strings.ToLower(part) != part: // Lease, cloud, kind of owner
		case isServer:
			parts[i] = event.LeaseAPIServerPrefix + otherWord(rest)
		default:
			parts[i] = otherWord(part)
		}
	}
	return strings.Join(parts, "/")
}

func otherWord(word string) string {
	return strings.Map(func(r rune) rune {
		for _, of := range []string{"bcdfghjklmnpqrstvwxz", "aeiouy", "2456789", "013"} {
			if i := strings.IndexRune(of, r); i >= 0 {
				return rune(of[len(of)-1-i])
			}
		}
		return r
	}, word)
}

package track

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// kindOf holds the words for the resources.
var kindOf = map[string]event.Kind{
	"node": event.KindNode, "lease": event.KindLease, "pod": event.KindPod, "service": event.KindService, "slice": event.KindEndpointSlice,
	"endpoints": event.KindEndpoints, "cluster": event.KindCluster, "control": event.KindControlPlaneLease,
	"deployment": event.KindDeployment, "statefulset": event.KindStatefulSet,
}

// shortNames holds the words for fields that many stories change.
var shortNames = map[string]string{
	"ready": "Ready.Status", "why": "Ready.Reason", "since": "Ready.LastTransitionTime", "beat": "Ready.LastHeartbeatTime", "renew": "RenewTime",
	"image": "Containers.0.Image", "restarts": "Containers.0.Restarts", "state": "Containers.0.State", "version": "ResourceVersion",
}

// newObject returns an object as it is without any changes.
func newObject(kind, name string) event.Object {
	switch kindOf[kind] {
	case event.KindNode:
		return aNode(name, ready, -100)
	case event.KindLease:
		return lease(name, 0)
	case event.KindPod:
		return aPod(name, ready, running("app:1", 0))
	case event.KindService:
		return aService(name, true)
	case event.KindEndpointSlice:
		return slice(name, "web")
	case event.KindEndpoints:
		return handWritten(name)
	case event.KindControlPlaneLease:
		if name == event.LeaseControllerManager {
			return leader("one", 0)
		}
		return apiServer(strings.TrimPrefix(name, event.LeaseAPIServerPrefix), 0)
	case event.KindDeployment, event.KindStatefulSet:
		return aWorkload(kindOf[kind], name, 3)
	}
	return &event.Cluster{}
}

// object changes the newest state of an object, such as "pod web-1 ready=false". Addresses are always given in full.
func (p *teller) object(words []string) event.Object {
	key := words[0] + " " + words[1]
	base := p.known[key]
	if base == nil {
		base = newObject(words[0], words[1])
	}
	o := changedObject(base, words[2:], fmt.Sprintf("=%g", p.now.Sub(zero).Seconds()))
	p.known[key] = o
	return o
}

func changedObject(base event.Object, words []string, now string) event.Object {
	v := deepCopy(reflect.ValueOf(base))
	o := v.Interface().(event.Object)
	var addresses []event.Address
	for _, word := range words {
		if strings.Contains(word, "=") {
			assign(o, strings.ReplaceAll(strings.Replace(word, "=now", now, 1), "␣", " "))
		} else {
			addresses = append(addresses, addressFrom(word, len(addresses)))
		}
	}
	switch o := o.(type) {
	case *event.EndpointSlice:
		o.Addresses = addresses
	case *event.Endpoints:
		o.Addresses = addresses
	}
	return o
}

// addressFrom returns the address of a pod, such as "web-1" or "web-1@10.0.0.7". It returns a manually managed one if it is
// an IP.
func addressFrom(word string, i int) event.Address {
	word, ip, given := strings.Cut(word, "@")
	if byHand := strings.TrimPrefix(word, "-"); strings.Contains(word, ".") {
		return event.Address{UID: event.AddressUID(byHand), IP: byHand, ByHand: true, Ready: byHand == word}
	}
	a := addressOf(word, i)
	if given {
		a.IP = ip
	}
	return a
}

// deepCopy copies an object, so that a change of one state does not change an older one.
func deepCopy(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c.Set(reflect.New(v.Type().Elem()))
			c.Elem().Set(deepCopy(v.Elem()))
		}
	case reflect.Struct:
		c.Set(v)
		for i := range v.NumField() {
			if c.Field(i).CanSet() {
				c.Field(i).Set(deepCopy(v.Field(i)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			c.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
			for i := range v.Len() {
				c.Index(i).Set(deepCopy(v.Index(i)))
			}
		}
	case reflect.Map:
		c.Set(reflect.ValueOf(maps.Clone(v.Interface().(map[string]string))))
	default:
		c.Set(v)
	}
	return c
}

// assign sets a field, such as "ready=false", "Selector.app=web" or "Taints.0.Key=gone". Without a value, the field becomes
// its zero value. A slice grows as needed.
func assign(o any, text string) {
	path, value, _ := strings.Cut(text, "=")
	if long, ok := shortNames[path]; ok {
		path = long
	}
	v := reflect.ValueOf(o).Elem()
	steps := strings.Split(path, ".")
	for i, step := range steps {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		switch v.Kind() {
		case reflect.Map:
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(reflect.ValueOf(strings.Join(steps[i:], ".")), reflect.ValueOf(value))
			return
		case reflect.Slice:
			n, _ := strconv.Atoi(step)
			for v.Len() <= n {
				v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			}
			v = v.Index(n)
		default:
			v = v.FieldByName(step)
		}
	}
	if value == "" {
		v.SetZero()
		return
	}
	setValue(v, value)
}

func setValue(v reflect.Value, text string) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	n, _ := strconv.ParseFloat(text, 64)
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(clock(n)))
	case time.Duration:
		d, _ := time.ParseDuration(text)
		v.SetInt(int64(d))
	case event.Status:
		v.Set(reflect.ValueOf(event.ParseStatus(strings.ToUpper(text[:1]) + text[1:])))
	case event.UID:
		v.Set(reflect.ValueOf(id(text)))
	case event.Kind:
		v.Set(reflect.ValueOf(kindOf[text]))
	case bool:
		v.SetBool(text == "true")
	case int, int32, int64:
		v.SetInt(int64(n))
	case float64:
		v.SetFloat(n)
	default:
		v.SetString(text)
	}
}

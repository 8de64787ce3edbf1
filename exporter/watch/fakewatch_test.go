package watch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// odd are the faults of the watches of a resource.
type odd struct {
	// mute: no bookmarks. unmoved: no bookmarks until the resource is listed, as for a quiet resource whose watch cache does not
	// know the progress of etcd.
	mute, unmoved bool
	// endless: the watch does not end after its timeout.
	endless bool
	// stalls: a streamed list stops before its end.
	stalls bool
	// holds: the request is not answered.
	holds bool
	// breaks: the watch ends after this time, with a last line.
	breaks bool
	after  time.Duration
	last   string
}

// page200 is an answer of something else than the API.
type page200 struct{ contentType, body string }

// fakeLease is the answer to a direct read: an HTTP status, or none.
type fakeLease struct {
	code int
	hang bool
}

func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request, resource string) {
	s := &fakeStream{lines: make(chan string), end: make(chan struct{})}
	f.lock.Lock()
	f.streams[resource] = s
	o := f.odd[resource]
	f.progressed[resource] = false
	f.lock.Unlock()
	if o.holds {
		<-r.Context().Done()
		return
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	if f.begin(w, r, resource, o) {
		f.goOn(w, r, resource, s, o)
	}
}

func writeLine(w http.ResponseWriter, line string) {
	fmt.Fprint(w, line)
	w.(http.Flusher).Flush()
}

// begin sends the first lines, and reports whether the watch goes on.
func (f *fakeAPI) begin(w http.ResponseWriter, r *http.Request, resource string, o odd) bool {
	f.lock.Lock()
	expired, objects, during, first := f.expired, f.objects[resource], f.during[resource], f.first[resource]
	breaksOff := f.breaksOff == resource
	if breaksOff {
		f.breaksOff = ""
		delete(f.during, resource)
	}
	f.lock.Unlock()
	switch {
	case r.URL.Query().Has("sendInitialEvents"):
		for _, object := range objects {
			writeLine(w, frame("ADDED", object))
		}
		for _, line := range during {
			writeLine(w, line)
		}
		if breaksOff {
			return false
		}
		if !o.stalls {
			writeLine(w, frame("BOOKMARK", bookmark(resource, "20", `"k8s.io/initial-events-end":"true"`)))
		}
	case expired:
		text, _ := json.Marshal(status(410, metav1.StatusReasonExpired, "too old resource version"))
		writeLine(w, frame("ERROR", string(text)))
		return false
	case first != "":
		writeLine(w, first)
	}
	return true
}

// goOn sends the lines of the test, a bookmark each minute, and one two seconds before the timeout.
func (f *fakeAPI) goOn(w http.ResponseWriter, r *http.Request, resource string, s *fakeStream, o odd) {
	seconds, _ := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	over, minute := time.NewTimer(time.Duration(seconds)*time.Second), time.NewTicker(time.Minute)
	defer over.Stop()
	defer minute.Stop()
	if seconds > 2 && seconds < 60 {
		minute.Reset(time.Duration(seconds-2) * time.Second)
	}
	var breaks <-chan time.Time
	if o.breaks {
		breaks = time.After(o.after)
	}
	for {
		select {
		case line := <-s.lines:
			writeLine(w, line)
		case <-minute.C:
			f.lock.Lock()
			progressed := f.progressed[resource]
			f.lock.Unlock()
			if !o.mute && !o.stalls && (!o.unmoved || progressed) {
				writeLine(w, frame("BOOKMARK", bookmark(resource, "40", "")))
			}
		case <-over.C:
			if !o.endless {
				return
			}
		case <-breaks:
			writeLine(w, o.last)
			return
		case <-s.end:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// lease answers the direct read of a Lease.
func (f *fakeAPI) lease(w http.ResponseWriter, r *http.Request, name string) {
	f.lock.Lock()
	answer := f.leases[name]
	f.lock.Unlock()
	switch {
	case answer.hang:
		<-r.Context().Done()
	case answer.code != 0:
		f.refuseWith(w, answer.code, "leases "+name)
	default:
		fmt.Fprint(w, apiObject("leases", name, "7"))
	}
}

package watch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// odd describes the faults of a resource's watch.
type odd struct {
	// mute makes the server send no bookmarks. unmoved makes it send none until the resource is listed, as for a quiet
	// resource whose watch cache does not know etcd's progress.
	mute, unmoved bool
	// endless makes the server ignore the watch's timeout.
	endless bool
	// stalls makes a streamed list stop in the middle.
	stalls bool
	// holds makes the server not respond.
	holds bool
	// breaks makes the server end the watch after a duration, with a last line.
	breaks bool
	after  time.Duration
	last   string
}

// page200 is a response that is not from the API.
type page200 struct{ contentType, body string }

// fakeLease is the response to a direct read: an HTTP status, or no response at all.
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

// begin sends the first lines of a watch. It reports whether the watch continues.
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

// goOn sends the test's lines, and a bookmark every minute. If the timeout is shorter than a minute, the bookmark is
// sent two seconds before the timeout.
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

// lease responds to a direct read of a Lease.
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

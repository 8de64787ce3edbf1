package watch

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// odd describes the faults of a resource's watch.
type odd struct {
	// mute makes the server send no bookmarks. unmoved makes it send none until the resource is listed, as for a quiet
	// resource whose watch cache does not know etcd's progress.
	mute, unmoved bool
	// breaks makes the server end the watch after a duration, with a last frame.
	breaks bool
	after  time.Duration
	last   string
}

// foreign is a response that is not from the API.
type foreign struct {
	code              int
	contentType, body string
}

// fakeLease is the response to a direct read: an HTTP status, or no response at all.
type fakeLease struct {
	code int
	hang bool
}

func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request, resource string) {
	s := &fakeStream{frames: make(chan string), end: make(chan struct{})}
	f.lock.Lock()
	f.streams[resource] = s
	o := f.odd[resource]
	f.progressed[resource] = false
	f.lock.Unlock()
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
	writeFrame(w, "")
	if f.isExpired(r) {
		writeFrame(w, errorFrame(410, metav1.StatusReasonExpired, "too old resource version"))
		return
	}
	f.goOn(w, r, resource, s, o)
}

func (f *fakeAPI) isExpired(r *http.Request) bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.expired && r.URL.Query().Get("resourceVersion") != listVersion
}

// writeFrame writes a frame. An empty frame sends only the header of the response.
func writeFrame(w http.ResponseWriter, frame string) {
	fmt.Fprint(w, frame)
	w.(http.Flusher).Flush()
}

// goOn sends the test's frames, and a bookmark every minute.
func (f *fakeAPI) goOn(w http.ResponseWriter, r *http.Request, resource string, s *fakeStream, o odd) {
	seconds, _ := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	over, minute := time.NewTimer(time.Duration(seconds)*time.Second), time.NewTicker(time.Minute)
	defer over.Stop()
	defer minute.Stop()
	var breaks <-chan time.Time
	if o.breaks {
		breaks = time.After(o.after)
	}
	for {
		select {
		case next := <-s.frames:
			writeFrame(w, next)
		case <-minute.C:
			f.lock.Lock()
			progressed := f.progressed[resource]
			f.lock.Unlock()
			if !o.mute && (!o.unmoved || progressed) {
				writeFrame(w, frame("BOOKMARK", bookmark(resource, "40")))
			}
		case <-breaks:
			writeFrame(w, o.last)
			return
		case <-over.C:
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
		_, _ = w.Write(document(apiObject("leases", name, "7")))
	}
}

package watch

import (
	"context"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const etcdFailed = "[+]ping ok\n[-]poststarthook/start-apiextensions-controllers failed: not finished\n" +
	"[-]etcd failed: reason withheld\n[-]etcd-readiness failed: reason withheld\n[+]informer-sync ok\nreadyz check failed\n"

func TestReadLeases(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *fakeAPI)
		// took is the duration of the read.
		took time.Duration
		want []string
	}{
		{"all are read", func(*fakeAPI) {}, 0, []string{"asking", "read a", "read b", "answered"}},
		{
			"one is not there", func(f *fakeAPI) { f.leases = map[string]fakeLease{"a": {code: 404}} }, 0,
			[]string{"asking", "read b", "answered"},
		},
		{
			"they may not be read", func(f *fakeAPI) { f.leases = map[string]fakeLease{"a": {code: 403}, "b": {code: 403}} }, 0,
			[]string{"asking", "answered forbidden"},
		},
		{
			"etcd hangs, and the server says so",
			func(f *fakeAPI) {
				f.leases, f.readyz = map[string]fakeLease{"a": {hang: true}, "b": {hang: true}}, etcdFailed
			},
			5 * time.Second,
			[]string{"asking", "answered etcd not ready"},
		},
		{
			"they hang, and the server is ready",
			func(f *fakeAPI) { f.leases = map[string]fakeLease{"a": {hang: true}, "b": {hang: true}} }, 5 * time.Second,
			[]string{"asking", "answered timeout"},
		},
		{
			"one hangs", func(f *fakeAPI) { f.leases = map[string]fakeLease{"b": {hang: true}} }, 5 * time.Second,
			[]string{"asking", "read a", "answered timeout"},
		},
		{
			"the server is not ready", func(f *fakeAPI) { f.refuse[""] = 503 }, 0,
			[]string{"asking", "answered server error"},
		},
		{
			"something else answers", func(f *fakeAPI) { f.foreign = map[string]foreign{"": {200, "text/html", "<html>"}} }, 0,
			[]string{"asking", "answered unreadable answer"},
		},
		{"nobody listens", (*fakeAPI).crash, 0, []string{"asking", "unanswered connection refused"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *session) {
				s.start()
				s.want(event.KindLease, "listing", "synced")
				if c.name == "nobody listens" {
					s.stop() // otherwise the watches also fail
					if err := <-s.ran; err != nil {
						t.Error(err)
					}
				}
				c.change(s.api)
				begin := time.Now()
				s.watcher.ReadLeases(t.Context(), []string{"a", "b"})
				if took := time.Since(begin); took != c.took {
					t.Errorf("it took %s", took)
				}
				s.wantSorted(event.KindLease, c.want...)
			})
		})
	}
}

func TestReadLeasesIsStopped(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.api.leases = map[string]fakeLease{"b": {hang: true}}
		s.start()
		s.want(event.KindLease, "listing", "synced")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		s.watcher.ReadLeases(ctx, []string{"a", "b"})
		if took := time.Since(begin); took != time.Second {
			t.Errorf("it took %s", took)
		}
		s.want(event.KindLease, "asking", "read a")
	})
}

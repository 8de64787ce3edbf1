package watch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// list lists page by page, for servers without WatchList (before v1.32, and v1.33). The reflector falls back to it.
//
// It leaves the resourceVersion out, so that etcd is read in pages, as by kubectl: the list is current, and its pages are
// small. A reflector asks for version "0", which the watch cache answers without regard to the limit. With any other version,
// the limit would make the server look for exactly that version. The reflector warns about such lists because thousands of
// kubelets may relist at once (Reflector.WatchListPageSize). kubeflap is a single client.
func (f *follower) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	// Servers limit such a request to a minute (apiserver, --request-timeout).
	limited, cancel := context.WithTimeout(ctx, maxSilence)
	defer cancel()
	page, err := f.resource.List(limited, &options)
	if err != nil {
		// If a later page has expired, the pager asks for the whole list instead.
		if options.Continue == "" || !apiclient.IsExpired(err) {
			f.health.down(ctx, err)
		}
		return nil, err
	}
	if f.resource.Large {
		f.passPage(ctx, page, options.Continue == "")
	}
	return page, nil
}

// passPage passes on the objects of a page and empties it. The reflector lists in a goroutine of its own and does not wait for
// that when the context ends (cache.Reflector, list). So run waits for passing.
func (f *follower) passPage(ctx context.Context, page *apiclient.Page, first bool) {
	f.passing <- struct{}{}
	defer func() { <-f.passing }()
	if ctx.Err() != nil {
		return
	}
	if first {
		f.store.emit(event.Listing)
	}
	for _, i := range page.Items {
		f.store.pass(event.Listed, i)
	}
	page.Items = nil
}

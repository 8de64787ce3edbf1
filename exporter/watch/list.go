package watch

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// list returns one page of a list. The reflector calls list if the server does not support WatchList (up to v1.31, and
// in v1.33).
//
// Like kubectl, list sends no resourceVersion, so the server reads the current state from etcd, in pages. By default, a
// reflector requests version "0". The watch cache then ignores the limit and returns the whole list. The reflector's
// documentation warns about lists from etcd, because thousands of kubelets may list at the same time
// (Reflector.WatchListPageSize). kubeflap, however, is a single client.
func (f *follower) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	// Servers end a list request after one minute (apiserver, --request-timeout).
	limited, cancel := context.WithTimeout(ctx, maxSilence)
	defer cancel()
	page, err := f.resource.List(limited, &options)
	if err != nil {
		// An expired continue token is not a failure, because client-go's pager then requests the whole list.
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

// List passes each object of a resource to the given function, page by page, and returns the list's resourceVersion. It
// does not affect the resource's watch. It is safe for concurrent use.
func (w *Watcher) List(ctx context.Context, kind event.Kind, each func(event.Object)) (version string, err error) {
	at := slices.IndexFunc(w.resources, func(r apiclient.Resource) bool { return r.Kind == kind })
	if at < 0 {
		return "", fmt.Errorf("%v are not watched", kind)
	}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		limited, cancel := context.WithTimeout(ctx, maxSilence)
		page, err := w.resources[at].List(limited, &options)
		cancel()
		if err != nil {
			return "", fmt.Errorf("list %v: %w", kind, err)
		}
		for _, i := range page.Items {
			if item, ok := i.(*apiclient.Item); ok && w.resources[at].Has(item.Slim) {
				each(item.Slim)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return page.ResourceVersion, nil
		}
	}
}

// passPage emits events for the objects of a page, then empties the page. A canceled reflector does not wait for its
// list goroutine (cache.Reflector, list). follower.run therefore waits for passPage.
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

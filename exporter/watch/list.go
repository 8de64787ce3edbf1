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

// list returns one page. The reflector uses list for servers without WatchList (up to v1.31, and v1.33).
//
// Like kubectl, it sends no resourceVersion, so that the server reads from etcd in pages. The list is then current, and
// its pages are small. A reflector would request version "0", for which the watch cache ignores the limit. With any
// other version, the limit would force the server to find exactly that version. The reflector's documentation warns
// about lists from etcd, because thousands of kubelets may relist at once (Reflector.WatchListPageSize), but kubeflap
// is a single client.
func (f *follower) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	// Servers limit such requests to one minute (apiserver, --request-timeout).
	limited, cancel := context.WithTimeout(ctx, maxSilence)
	defer cancel()
	page, err := f.resource.List(limited, &options)
	if err != nil {
		// If a later page has expired, the pager requests the whole list instead.
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

// passPage passes on the objects of a page and empties the page. When the context is canceled, the reflector does not
// wait for its list goroutine (cache.Reflector, list), so the method run waits until the channel passing is empty.
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

package watch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// pageSize is what kubectl and client-go's pager use.
const pageSize = 500

// list is for servers without WatchList (before v1.32, and v1.33): there the reflector
// falls back to it. It takes page by page, so that a cluster of any size fits.
//
// Reflectors ask for resource version "0", which the server answers from its watch cache and
// at once, whatever the limit; and with any other version the limit would make it
// look for exactly that version. So the version is left out: etcd is read in pages, as
// by kubectl, and the list is current and never older than what was seen before.
// For one reader, once per relist, that is no burden (the reflector's warning,
// WatchListPageSize, is of thousands of kubelets that relist together).
func (f *follower) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	// Servers give such a request a minute (apiserver, --request-timeout): what takes longer is not answered any more.
	asking, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	list, err := pageOf(f.get(&options).Do(asking))
	if err != nil {
		// A page that has expired is not the end: the pager asks for the whole list then.
		if options.Continue == "" || !isExpired(err) {
			f.health.down(ctx, err)
		}
		return nil, err
	}
	if f.large {
		f.passOn(ctx, list, options.Continue == "")
	}
	return list, nil
}

// passOn lets a page go on, and nothing of it stays. The reflector lists in a goroutine of its own, for which
// it does not wait when the context ends (cache.Reflector, list): run does.
func (f *follower) passOn(ctx context.Context, p *page, first bool) {
	f.passing <- struct{}{}
	defer func() { <-f.passing }()
	if ctx.Err() != nil {
		return
	}
	if first {
		f.store.say(event.Listing)
	}
	for _, i := range p.Items {
		_ = f.store.pass(event.Listed, i)
	}
	p.Items = nil
}

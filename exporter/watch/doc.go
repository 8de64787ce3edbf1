// Package watch lists and watches six resources with client-go's reflectors. If permitted, it also watches the
// control-plane Leases. It emits an event.Event for each object, and keeps no objects.
//
// The package also records when and why each watch fails, and when it works again. A watch counts as failed after 90 s
// without an event or a bookmark.
//
//   - apiclient sends requests and decodes responses.
//   - permissions checks which resources kubeflap is allowed to watch.
//   - leases reads node Leases from etcd instead of the watch cache.
//   - batching reads small events in batches.
package watch

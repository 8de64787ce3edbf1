// Package watch lists and watches six resources with client-go's reflectors. If permitted, it also watches the
// control-plane Leases. It emits an event.Event for each object, and keeps no objects.
//
// The package also records when and why each watch fails, and when it works again. A watch counts as failed after 90 s
// without an event or a bookmark. The work is divided among these subpackages:
//
//   - apiclient sends requests and decodes responses.
//   - permissions checks which resources kubeflap is allowed to watch.
//   - leases requests node Leases that the API server reads from etcd, not from its watch cache.
//   - batching reads small events in batches.
package watch

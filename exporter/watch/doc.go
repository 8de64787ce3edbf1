// Package watch lists and watches six resources with client-go's reflectors. If permitted, it also watches the
// control-plane Leases. It emits an event.Event for each object, but keeps no objects in memory.
//
// The package also records when and why each watch fails, and when it works again. A watch counts as failed after 90 s
// without an event or a bookmark. The work is divided among these subpackages:
//
//   - apiclient sends requests and decodes responses.
//   - permissions checks which resources kubeflap is allowed to watch.
//   - leases requests node Leases in a way that makes the API server read them from etcd, not from its watch cache.
//   - batching reads small events in batches.
package watch

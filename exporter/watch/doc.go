// Package watch lists and watches six resources. If permitted, it also watches the control-plane Leases. It emits an
// event.Event for each object, but keeps no objects in memory.
//
// A broken watch resumes at its last resourceVersion. It is listed again only if the version has expired, or if a watch
// delivers neither an event nor a bookmark for 90 s. The package also logs when and why each watch fails, and when it
// works again. The work is divided among these subpackages:
//
//   - apiclient sends requests and decodes responses.
//   - permissions checks which resources kubeflap is allowed to watch.
//   - leases requests node Leases in a way that makes the API server read them from etcd, not from its watch cache.
//   - batching reads small events in batches.
package watch

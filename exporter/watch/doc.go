// Package watch lists and watches six resources with client-go's reflectors, and also the control-plane Leases if
// permitted. It passes each object on as a slim event.Event and keeps no objects.
//
// The package also tracks the health of each watch: when and why it fails, and when it works again. A watch counts as
// failed after 90 s without an event or a bookmark.
//
//   - apiclient sends requests and decodes responses.
//   - permissions checks which resources kubeflap is allowed to watch.
//   - leases reads Leases directly.
//   - batching reads small events in batches.
package watch

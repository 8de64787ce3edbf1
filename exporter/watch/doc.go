// Package watch lists and watches six resources with client-go's reflectors, and if it may the Leases of the control plane. It
// passes each object on as a slim event.Event and keeps none.
//
// It also follows the health of each watch: when a watch is down, why, and when it works again. A watch that brings neither an
// event nor a bookmark for 90 s does not count as working.
//
//   - apiclient sends the requests and reads the answers.
//   - permissions finds out what may be watched.
//   - leases reads Leases directly.
//   - batching reads small events together.
package watch

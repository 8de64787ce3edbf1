// Package watch lists and watches six resources. If permitted, it also watches the control-plane Leases, Deployments and
// StatefulSets. It emits an event.Event for each object, but keeps no objects in memory.
//
// A broken watch resumes at its last resourceVersion. It is listed again only if the version has expired, or if the watch
// delivers neither an event nor a bookmark for 90 s. The package also logs when and why each watch fails, and when it
// works again. It checks which resources kubeflap is allowed to watch, and reads node Leases directly.
package watch

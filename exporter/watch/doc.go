// Package kube watches a cluster: six reflectors list and watch six resources,
// and every object that they hand over becomes a slim event.Event. It remembers
// nothing of the objects; what an event means is decided elsewhere.
package watch

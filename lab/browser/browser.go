// Package browser holds the tests that look at kubeflap's pages in a real
// browser. It is a module of its own: the product does not depend on one.
package browser

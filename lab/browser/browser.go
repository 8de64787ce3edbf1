// Package browser contains the tests of kubeflap's pages in a real browser. It is a separate module, so that kubeflap
// does not depend on a browser driver.
package browser

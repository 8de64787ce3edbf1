// Package advice holds the texts and remedies for causes and verdicts, and computes the recommended grace period. It
// keeps no state. A remedy begins with the sentence that says what to do first, with a command for it in parentheses
// where there is one.
package advice

// FewestToCompare is the minimum number of nodes that a cluster needs so that kubeflap can distinguish a fault of a
// node from a fault of the control plane.
const FewestToCompare = 3

// Package decode reads API objects directly from protobuf. It reads the fields that kubeflap needs and skips all
// others, such as env, volumes and most of the spec. The field numbers come from the API's generated.proto files.
package decode

// Package decode reads slim objects directly from the API's protobuf. It walks over the bytes, takes the fields that kubeflap
// needs and skips all others (env, volumes, most of the spec), so that they are never built. The field numbers are those of
// the API's generated.proto files. JSON is converted to protobuf first.
package decode

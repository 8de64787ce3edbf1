// Package wire reads slim objects straight from the API's protobuf: it walks over the bytes,
// takes the fields that kubeflap needs and skips all others (env, volumes, most of the spec), so that
// they are never built. The numbers of the fields are those of the API's generated.proto files.
// What comes as JSON is turned into such bytes first.
package decode

module github.com/kubeflap/kubeflap/release

go 1.26.0

require (
	github.com/alecthomas/kingpin/v2 v2.4.0
	github.com/in-toto/attestation v1.2.0
	github.com/package-url/packageurl-go v0.1.7
	google.golang.org/protobuf v1.36.12
	sigs.k8s.io/yaml v1.6.0
)

require (
	github.com/alecthomas/units v0.0.0-20211218093645-b94a6e3cc137 // indirect
	github.com/xhit/go-str2duration/v2 v2.1.0 // indirect
	go.yaml.in/yaml/v2 v2.4.2 // indirect
)

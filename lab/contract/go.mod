module github.com/kubeflap/kubeflap/lab/contract

go 1.26.0

require (
	github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring v0.95.0 // indirect
	github.com/prometheus/prometheus v0.315.0 // indirect
)

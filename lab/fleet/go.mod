module github.com/kubeflap/kubeflap/lab/fleet

go 1.26.0

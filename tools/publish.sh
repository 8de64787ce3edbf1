#!/usr/bin/env bash
# Pushes the image and the chart of version $2, which make publish has built, to the registry and path $1. Prints two
# complete commands that install them. docs/install.md shows the second one.
set -euo pipefail

target=${1%/} number=$2
# Require a host and a path. Without a dot, a port or "localhost", crane would treat the first part as a user of Docker Hub.
[[ $target != *://* && ($target == *.*/?* || $target == *:*/?* || $target == localhost/?*) ]] ||
  { echo "publish: $1 is not HOST/PATH, such as registry.example.org/monitoring" >&2; exit 1; }
image=$target/kubeflap:v$number
# crane uses plain HTTP for loopback addresses without a flag, but helm needs one.
plain=()
[[ $target =~ ^(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?/ ]] && plain=(--plain-http)

layout=$(mktemp -d)
trap 'rm -rf "$layout"' EXIT
tar xf "$IMAGE" -C "$layout"
bin/crane push "$layout" "$image"
pushed=$(bin/crane digest "$image")
[[ $pushed == "$(<"$IMAGE.digest")" ]] || { echo "publish: the digest of $image in the registry is $pushed, but make image built $(<"$IMAGE.digest")" >&2; exit 1; }
bin/helm push "bin/kubeflap-$number.tgz" "oci://$target/charts" "${plain[@]}"

install="helm install kubeflap oci://$target/charts/kubeflap --version $number --namespace kubeflap --create-namespace \\
    --set image.registry=${target%%/*},image.repository=${target#*/}/kubeflap,image.digest=$pushed"
cat <<END

With a plain Prometheus, install it with:
  $install

With the Prometheus Operator and Grafana's sidecar, install it with this command. Replace the label and the hosts under example.org with your own:
  $install \\
    --set serviceMonitor.enabled=true,serviceMonitor.labels.release=kube-prometheus-stack \\
    --set prometheusRule.enabled=true,prometheusRule.labels.release=kube-prometheus-stack \\
    --set dashboards.enabled=true,links.page=https://kubeflap.example.org,links.grafana=https://grafana.example.org
END

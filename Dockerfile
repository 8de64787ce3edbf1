# Builds kubeflap from source: docker build --build-arg VERSION=$(git describe --tags --always) .
# For a release, make image builds a reproducible image from tools/image.Dockerfile.
ARG GO_IMAGE=docker.io/library/golang:1.26
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY exporter exporter
ARG TARGETARCH
ARG VERSION
ARG REVISION
RUN CGO_ENABLED=0 GOOS=linux GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -o /kubeflap -ldflags "-s -w \
    -X github.com/prometheus/common/version.Version=${VERSION#v} -X github.com/prometheus/common/version.Branch=HEAD \
    -X github.com/prometheus/common/version.Revision=$REVISION" ./cmd/kubeflap

FROM scratch
ARG TARGETARCH
ARG VERSION
ARG REVISION
ARG CREATED
LABEL org.opencontainers.image.title="kubeflap" \
      org.opencontainers.image.description="Counts every change of readiness in a Kubernetes cluster, however brief, and says why" \
      org.opencontainers.image.authors="kubeflap authors" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.url="https://github.com/kubeflap/kubeflap" \
      org.opencontainers.image.source="https://github.com/kubeflap/kubeflap" \
      org.opencontainers.image.documentation="https://github.com/kubeflap/kubeflap/blob/main/README.md" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
# Set the modes explicitly, because the modes of a checkout depend on the umask.
COPY --from=build --chmod=0755 /kubeflap /kubeflap
COPY --chmod=0644 LICENSE /LICENSE
# The user nobody. The ID is numeric, so that the kubelet can verify that it is not root.
USER 65534:65534
EXPOSE 9969
ENTRYPOINT ["/kubeflap"]
CMD ["run"]

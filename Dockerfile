# The image contains only the static binary from make image, so nothing else needs patches.
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
COPY --chmod=0755 bin/linux/${TARGETARCH}/kubeflap /kubeflap
COPY --chmod=0644 LICENSE /LICENSE
# The user nobody. The ID is numeric, so that the kubelet can verify that it is not root.
USER 65534:65534
EXPOSE 9969
ENTRYPOINT ["/kubeflap"]
CMD ["run"]

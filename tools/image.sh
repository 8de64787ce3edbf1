#!/usr/bin/env bash
# Builds the image for all ARCHES as the OCI archive IMAGE, and writes its digest to IMAGE.digest. make image sets the
# variables.
set -euo pipefail

store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
b=(buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs)
# In sequence, because the order is part of the digest.
for arch in $ARCHES; do
  "${b[@]}" build --quiet --file tools/image.Dockerfile --isolation chroot --platform "linux/$arch" --manifest kubeflap --identity-label=false \
    --timestamp "$STAMP" --build-arg VERSION="$NUMBER" --build-arg REVISION="$REVISION" \
    --build-arg CREATED="$(date -u -d "@$STAMP" +%Y-%m-%dT%H:%M:%SZ)" .
done
rm -f "$IMAGE"
"${b[@]}" manifest push --all --quiet --digestfile "$IMAGE.digest" kubeflap "oci-archive:$IMAGE"
du -h "$IMAGE"
cat "$IMAGE.digest"
echo

#!/usr/bin/env bash
# Installs the tools that make test needs besides Go, and the tools in its arguments. This requires Debian and root.
# Otherwise, it lists the missing tools.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v go >/dev/null || { echo "Go $(sed -n 's/^go //p' go.mod) or newer is required" >&2; exit 1; }

missing=()
for tool in make git "$@"; do
  command -v "$tool" >/dev/null || missing+=("$tool")
done
# The race detector needs a C compiler and linker.
command -v "$(go env CC)" >/dev/null || missing+=(gcc libc6-dev)
# Go downloads modules over HTTPS.
[[ ! -e /etc/debian_version || -e /etc/ssl/certs/ca-certificates.crt ]] || missing+=(ca-certificates)
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ||
  command -v google-chrome-stable >/dev/null || missing+=(chromium)

((${#missing[@]})) || exit 0
if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
  echo "the checks need ${missing[*]}: install them and try again" >&2
  exit 1
fi
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"

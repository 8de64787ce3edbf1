#!/usr/bin/env bash
# Checks that the commit is fit to be published as the version $1, which is what make builds, with the plugin for the platforms $2.
set -euo pipefail

bin/release check-tag --release "$1"
make docs
if [[ -n $(git status --porcelain) ]]; then
  git status --short
  echo 'release: make docs changes these: commit what it writes, and tag that' >&2
  exit 1
fi
make vulncheck VULNCHECK=required
make check-image provenance
bin/release check-artefacts --release "$1" --platforms "$2"
echo "$1 is fit for release"

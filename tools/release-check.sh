#!/usr/bin/env bash
# Checks that the commit may be published as version $1. make builds this version, with the plugin for the platforms $2.
set -euo pipefail

bin/release check-tag --release "$1"
make docs
if [[ -n $(git status --porcelain) ]]; then
  git status --short
  echo 'release: make docs changes the files above: commit them, and tag that commit' >&2
  exit 1
fi
make vulncheck VULNCHECK=required
make check-image provenance
bin/release check-artefacts --release "$1" --platforms "$2"
echo "$1 can be released"

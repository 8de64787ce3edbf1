#!/usr/bin/env bash
# Prints the packages that start goroutines, in their code or in their tests. Only these can have data races.
set -euo pipefail
grep -rlE --include='*.go' '\bgo (func\(|[a-zA-Z.]+\()|\.Go\(|\bhttptest\.' cmd exporter | xargs -n1 dirname | sort -u | sed 's#^#./#'

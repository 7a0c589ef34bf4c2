#!/usr/bin/env bash
# Checks the format, the length of files, left-over markers, closures that the compiler may take for others,
# and that each mutant's text stands where it is replaced: `make lint`.
#
#   lint.sh PATH...
set -euo pipefail
cd "$(dirname "$0")/../.."
swift format lint --strict --parallel --recursive "$@"
if long=$(find Sources -name '*.swift' -exec awk 'END { if (NR > 400) print FILENAME ": " NR " lines" }' {} \; | grep .); then
  printf 'More than 400 lines:\n%s\n' "$long" >&2
  exit 1
fi
if marks=$(grep -rnwE 'TOD[O]|FIXM[E]' Sources Tests Benchmarks/Sources Benchmarks/Tests Package.swift Benchmarks/Package.swift); then
  printf 'Left-over markers:\n%s\n' "$marks" >&2
  exit 1
fi
APPLY=only Sources/Tools/mutants.sh
python3 Sources/Tools/closures.py Tests Benchmarks/Tests Sources/Examples/Tests

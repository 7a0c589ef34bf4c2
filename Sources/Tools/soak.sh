#!/usr/bin/env bash
# Does random things to four loops for SOAK_SECONDS from SEED, half under each of two sanitizers: `make soak`.
#
# Without SEED it takes one at random and prints it. The first build is that of `make tsan`.
set -euo pipefail
cd "$(dirname "$0")/../.."
seed=${SEED:-$((RANDOM * 32768 + RANDOM + 1))}
seconds=$(((SOAK_SECONDS + 1) / 2))
for sanitizer in thread address; do
  # What is built for debugging keeps each item for as long as it is used: of memory that is freed too early it shows less.
  build=(--sanitize=$sanitizer -Xswiftc -gline-tables-only)
  [[ $sanitizer == thread ]] && build+=(--scratch-path .build/tsan -Xswiftc -whole-module-optimization -Xswiftc -num-threads -Xswiftc 2) ||
    build+=(-c release --scratch-path .build/asan)
  swift build "${build[@]}" --product rondo-probe
  probe=$(swift build "${build[@]}" --show-bin-path)/rondo-probe
  echo "Under the $sanitizer sanitizer, for $seconds s:"
  # The leak detector does not see that a live object refers to the table of its weak references.
  leaks=${probe%/*}/leaks-of-others
  printf 'leak:%s\n' formWeakReference >"$leaks"
  TSAN_OPTIONS=suppressions=$PWD/Sources/Tools/races-of-others \
    LSAN_OPTIONS=suppressions=$leaks:print_suppressions=0 SEED=$seed SOAK_SECONDS=$seconds "$probe" soak
done

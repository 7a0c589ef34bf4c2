#!/usr/bin/env bash
# Does random things to four loops for SOAK_SECONDS from SEED, half under each of two sanitizers: `make soak`.
#
# Without SEED it takes one at random and prints it. The builds are those of `make tsan` and `make asan`.
set -euo pipefail
cd "$(dirname "$0")/../.."
seed=${SEED:-$((RANDOM * 32768 + RANDOM + 1))}
seconds=$(((SOAK_SECONDS + 1) / 2))
for sanitizer in thread address; do
  [[ $sanitizer == thread ]] && scratch=.build/tsan || scratch=.build/asan
  swift build --sanitize=$sanitizer --scratch-path $scratch --product rondo-soak
  soak=$(swift build --sanitize=$sanitizer --scratch-path $scratch --show-bin-path)/rondo-soak
  echo "Under the $sanitizer sanitizer, for $seconds s:"
  # The leak detector does not see that a live object refers to the table of its weak references.
  printf 'leak:%s\n' formWeakReference >$scratch/leaks-of-others
  LSAN_OPTIONS=suppressions=$PWD/$scratch/leaks-of-others:print_suppressions=0 \
    SEED=$seed SOAK_SECONDS=$seconds "$soak"
done

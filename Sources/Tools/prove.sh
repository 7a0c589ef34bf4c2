#!/usr/bin/env bash
# Runs every proof that the project has, each at a depth that a machine of two cores can afford: `make prove`.
#
#   prove.sh [NAME]...
#
# Names of proofs as arguments run those alone. Each prints one line: its depth, its time, and whether it passed. One that
# fails does not keep the others from running; which failed is said at the end. What each printed is in .build/prove.
set -euo pipefail
cd "$(dirname "$0")/../.."
source Sources/Tools/leftovers.sh
logs=.build/prove
# For each proof: what hangs fails, and the others are run.
minutes=35
mkdir -p "$logs"
seed=${SEED:-$((RANDOM * 32768 + RANDOM + 1))}
only=" $* "
rm -f "$logs"/*.{failed,time}
# What was chosen for this run is not for those that it starts.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES ONLY SEED
TIMEFORMAT='%R %U %S'

# what_failed NAME: the lines of its log that say so, with the stacks of a sanitizer.
what_failed() {
  local ended
  # What hangs has begun, and has not ended.
  ended=$(sed -nE 's/ with [0-9]+ test cases? / /; s/^[✔✘] Test (.*) (passed|failed) after.*/\1/p' "$logs/$1.log")
  {
    grep -aE -A 14 'WARNING: ThreadSanitizer|ERROR: (Address|Leak)Sanitizer' "$logs/$1.log" | head -n 30
    grep -aE '^✘|: (error|ERROR)|ERROR: |Fatal error|Precondition failed|SURVIVED|UNEXPLAINED|FAILED' "$logs/$1.log" | head -n 20
    sed -nE 's/^◇ Test ("[^"]*"|[^" ]*\(.*\)) started\.$/not ended: \1/p' "$logs/$1.log" |
      grep -vFe "${ended:-nothing}" | head -n 5
  } | cut -c 1-200 || true
}

# prove NAME DEPTH TARGET [ARGUMENT]...: makes a target, and says what became of it.
prove() {
  local name=$1 depth=$2 result=passed spent
  shift 2
  [[ $only == '  ' || $only == *" $name "* ]] || return 0
  # Of the words of make itself nothing is kept.
  { time env "$marker/$name=" timeout --kill-after=10 ${minutes}m make --no-print-directory "$@" >"$logs/$name.log" 2>&1 ||
    result=FAILED; } 2>"$logs/$name.time"
  end_leftovers "$name="
  spent=$(awk '{ printf "%.0f s (processors: %.0f s)", $1, $2 + $3 }' "$logs/$name.time")
  printf '%s: %s, %s, %s\n' "$name" "$depth" "$spent" "$result"
  [[ $result == FAILED ]] || return 0
  touch "$logs/$name.failed"
  # What a thousand tests print hides what failed.
  what_failed "$name"
  tail -n 20 "$logs/$name.log"
}

# The commit that a change began with: where it left main, or, on main itself, some commits ago. Nothing without history.
base() {
  local head commit
  head=$(git rev-parse HEAD) || return 0
  for commit in "$(git merge-base origin/main HEAD 2>/dev/null)" HEAD~30 HEAD~10 HEAD~3 HEAD~1; do
    commit=$(git rev-parse --verify --quiet "$commit^{commit}") || continue
    [[ $commit != "$head" ]] || continue
    echo "$commit"
    return
  done
}
since=$(base 2>/dev/null || true)

make --no-print-directory setup-prove
# Each of these keeps one processor busy: two at a time. Where both build in one folder, one waits for the other to have built.
prove parity "15000 scenarios, seed $seed" parity SEED="$seed" COUNT=15000 &
prove fuzz "30000 inputs a decoder" fuzz RUNS=30000
wait
prove counts "all operations" counts &
prove torture "one errno a call" torture QUICK=1
wait
prove c "both forms of librondo.so" c-test &
prove protocols "all tests, 3000 random conversations" protocols REQUESTS=3000
wait
prove mutants "8 of what changed since ${since:0:9}" mutants SINCE="$since" MOST=8 &
prove stranger "from a tag to a server" stranger
# What is on SwiftNIO was built for its tests.
prove docs "all products" docs
wait
prove examples "all of them" examples
prove chaos "twice 20 s, 1000 connections" chaos CHAOS_SECONDS=20 CHAOS_CONNECTIONS=1000 &
prove api "since the newest tag" api
wait
# The sanitized tests wait as much as they compute, and take as long as these four.
prove tsan "threaded tests, 20000 hand-overs" tsan HAND_OVERS=20000 &
prove bridge "all tests of real loops" bridge
prove stress "a fifth of their lengths" stress PART=5
prove seeds "1000 seeds a program" seeds SEEDS=1000
prove bench "built for release" bench-build
wait
prove asan "threaded tests, leaks" asan
prove soak "40 s, seed $seed" soak SOAK_SECONDS=40 SEED="$seed" &
prove bench-test "all tests" bench-test
wait

# The longest first: where there is time to be gained.
printf '\n%8s %10s  %s\n' seconds processors proof
for file in "$logs"/*.time; do
  awk -v name="$(basename "$file" .time)" '{ printf "%8.0f %10.0f  %s\n", $1, $2 + $3, name }' "$file"
done | sort -nr

failed=("$logs"/*.failed)
if [[ -e ${failed[0]} ]]; then
  failed=("${failed[@]##*/}")
  # At the end of a long log, which is what is kept of one.
  for name in "${failed[@]%.failed}"; do
    printf '\n== %s\n' "$name"
    what_failed "$name"
  done
  printf 'prove: %d failed: %s. The logs are in %s.\n' "${#failed[@]}" "${failed[*]%.failed}" "$logs" >&2
  exit 1
fi
echo "prove: all passed in $((SECONDS / 60)) min"

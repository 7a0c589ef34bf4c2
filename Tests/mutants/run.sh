#!/usr/bin/env bash
# Proves that the tests can see: each mutant of the turn in this directory has to be caught by them.
#
# A mutant is one replacement: `file:`, the text before, the text after. It is made in a copy of the package. Names of
# mutants as arguments run those alone.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
tests='RondoTests|RondoParityTests.TableTests'
# A mutant that hangs the tests is caught as well; the unmutated tree takes a small part of this many seconds.
limit=${MUTANT_LIMIT:-300}

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/package"
tar -C "$root" --exclude=./.git --exclude=./.build --exclude=./Benchmarks -cf - . | tar -C "$copy/package" -xf -
cd "$copy/package"

# Prints one part of a mutant's description; text that ends in a newline keeps it.
part() {
  awk -v wanted="$2" '/^--- /{ part = $2; next } part == wanted' "$1"
}

build() { swift build --build-tests >"$copy/log" 2>&1; }

# Tests that hang have processes of their own, so the time limit ends their whole session.
check() {
  local started=$SECONDS status=0
  setsid swift test --skip-build --filter "$tests" >"$copy/log" 2>&1 &
  local leader=$!
  while kill -0 "$leader" 2>/dev/null; do
    if (( SECONDS - started > limit )); then
      pkill -KILL --session "$leader" || true
      wait "$leader" 2>/dev/null || true
      return 124
    fi
    sleep 0.5
  done
  wait "$leader" || status=$?
  return $status
}

echo 'Building the unmutated tree'
build || { tail -40 "$copy/log"; echo 'The unmutated tree does not build.'; exit 1; }
check || { tail -40 "$copy/log"; echo 'The unmutated tree fails.'; exit 1; }

survivors=0
for mutant in "$here"/*.mutant; do
  name=$(basename "$mutant" .mutant)
  if (( $# )) && [[ " $* " != *" $name "* ]]; then continue; fi
  file=$(awk '/^file: /{ print $2; exit }' "$mutant")
  before=$(part "$mutant" before; printf x)
  after=$(part "$mutant" after; printf x)
  # Without the last newline, a part may stand in the middle of a line; an emptied line goes as a whole.
  before=${before%x} after=${after%x}
  if [[ -n $after ]]; then before=${before%$'\n'} after=${after%$'\n'}; fi
  source=$(cat "$file"; printf x)
  source=${source%x}
  rest=${source#*"$before"}
  if [[ $rest == "$source" || $rest == *"$before"* ]]; then
    echo "$name does not apply: its text has to stand in $file once."
    exit 1
  fi
  printf '%s' "${source%%"$before"*}$after$rest" >"$file"
  if cmp -s "$file" "$root/$file"; then echo "$name changes nothing."; exit 1; fi
  status=0
  build || { tail -40 "$copy/log"; echo "$name does not build."; exit 1; }
  check || status=$?
  case $status in
    0)
      echo "SURVIVED: $name"
      survivors=$((survivors + 1))
      ;;
    124) echo "caught: $name (the tests hang)" ;;
    *) echo "caught: $name" ;;
  esac
  cp "$root/$file" "$file"
done
if (( survivors )); then echo "$survivors survived."; exit 1; fi

#!/usr/bin/env bash
# Proves that the tests can see: each mutant in Sources/Tools/mutants has to be caught, by the tests that it names.
#
# A mutant is one replacement in the sources of the core: `file:`, the `tests:` that shall catch it, the text before, the
# text after. Each `tests:` is a regular expression for names of tests that begins with a suite of RondoTests, which
# stands in a file of its name. Its folders test what is above the core, and are left out. A mutant changes bodies alone:
# the tests are compiled once, against the declarations of the unmutated core, and run with each mutated one.
#
# Numbers or names of mutants as arguments run those alone; SINCE=<commit> runs those whose source, tests or text have
# changed since then; MOST=<number> runs that many of them, taken at random. TESTS=all runs every test of RondoTests instead, and
# prints which of them saw the mutant. APPLY=only asks whether each text stands where it is replaced, and builds nothing.
set -euo pipefail
shopt -s nullglob

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/Sources/Tools/mutants
jobs=${JOBS:-$(nproc)}
# The tests that are named take a second or two. One that hangs has to get a limit of its own.
limit=${MUTANT_LIMIT:-60}

# MARK: What a mutant says

header() { sed -n "/^--- /q; s/^$2: //p" "$1"; }

# One part of a mutant; text that ends in a newline keeps it.
part() { awk -v wanted="$2" '/^--- /{ part = $2; next } part == wanted' "$1"; }

suites() { header "$1" tests | sed 's|/.*||'; }

# Writes a mutant's file, with the replacement made in what a tree has, into a directory.
mutate() {
  local mutant=$1 file=$2 before after source rest
  before=$(part "$mutant" before; printf x)
  after=$(part "$mutant" after; printf x)
  # Without the last newline, a part may stand in the middle of a line; an emptied line goes as a whole.
  before=${before%x} after=${after%x}
  if [[ -n $after ]]; then before=${before%$'\n'} after=${after%$'\n'}; fi
  source=$(cat "$4/$file"; printf x)
  source=${source%x}
  rest=${source#*"$before"}
  [[ $rest != "$source" && $rest != *"$before"* && $before != "$after" ]] || return 1
  printf '%s' "${source%%"$before"*}$after$rest" >"$3/$(basename "$file")"
}

# MARK: Which mutants

changed=
if [[ -n ${SINCE:-} ]]; then
  changed=$(
    cd "$root"
    git diff --name-only --relative "$(git merge-base "$SINCE" HEAD)"
    git ls-files --others --exclude-standard
  )
fi

is_chosen() {
  local mutant=$1 name word
  name=$(basename "$mutant" .mutant)
  if [[ -n ${SINCE:-} ]]; then
    {
      echo "Sources/Tools/mutants/$name.mutant"
      header "$mutant" file
      suites "$mutant" | sed 's|.*|Tests/RondoTests/&.swift|'
    } | grep -qxFf - <(echo "$changed") || return 1
  fi
  (( ${#only[@]} )) || return 0
  for word in "${only[@]}"; do
    if [[ $name == "$word" || $name == "$word"-* ]]; then return 0; fi
  done
  return 1
}

only=("$@")
chosen=()
for mutant in "$here"/*.mutant; do
  if is_chosen "$mutant"; then chosen+=("$mutant"); fi
done
for word in "${only[@]}"; do
  named=("$here/$word".mutant "$here/$word"-*.mutant)
  [[ -e ${named[0]} || ${#named[@]} -gt 1 ]] || { echo "There is no mutant $word."; exit 1; }
done
if (( ! ${#chosen[@]} )); then
  echo 'No mutant is concerned.'
  exit
fi

# Before anything is built: a mutant whose text has gone is the change's to mend.
scratch=$(mktemp -d)
source "$root/Sources/Tools/leftovers.sh"
trap 'end_leftovers; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
astray=
# In a directory of its own: headers among them must not be found by what is compiled.
mkdir "$scratch/applied"
for mutant in "${chosen[@]}"; do
  file=$(header "$mutant" file)
  mutate "$mutant" "$file" "$scratch/applied" "$root" ||
    { astray=yes; echo "DOES NOT APPLY: $(basename "$mutant"). Its text has to stand in $file once." >&2; }
done
if [[ -n $astray ]]; then exit 1; fi
if [[ -n ${APPLY:-} ]]; then exit; fi

concerned=${#chosen[@]}
if [[ -n ${MOST:-} ]] && ((concerned > MOST)); then mapfile -t chosen < <(shuf -n "$MOST" -e -- "${chosen[@]}" | sort); fi

# MARK: The unmutated core and its tests

tree=$scratch/tree
mkdir "$tree"
tar -C "$root" --exclude=./.git --exclude=./.build --exclude=./Benchmarks -cf - . | tar -C "$tree" -xf -

# As in Package.swift, which a mutant need not wait for.
flags=(
  -Onone -enable-testing -swift-version 6 -package-name rondo -suppress-warnings -parse-as-library
  -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility
  -enable-upcoming-feature InternalImportsByDefault
  -module-cache-path "$scratch/cache" -I "$scratch"
)
link=(-L "$scratch" -Xlinker '-rpath=$ORIGIN')
read -ra libevent <<<"$(pkg-config --libs libevent_core 2>/dev/null || echo -levent_core)"
mapfile -t core < <(find "$tree/Sources/Rondo" -name '*.swift')
mapfile -t inspect < <(find "$tree/Sources/RondoInspect" -name '*.swift')
mapfile -t testing < <(find "$tree/Sources/RondoTesting" -name '*.swift')

# Compiles what there is of a module, one object a file, in the directory it is called in.
compile() {
  swiftc "${flags[@]}" -enable-batch-mode -j "$jobs" -c "$@"
}

# The options for the C that is in `$1`.
maps() {
  printf -- "-Xcc\n-fmodule-map-file=$1/%s/module.modulemap\n" CLinux CLibevent CRondoInspect/include
}

# In a shell of its own, where every command counts.
build_tests() (
  set -e
  mapfile -t maps < <(maps "$tree/Sources")
  mkdir "$scratch"/{core,objects}
  cd "$scratch/core"
  compile "${maps[@]}" -module-name Rondo -emit-module -emit-module-path "$scratch/Rondo.swiftmodule" "${core[@]}"
  swiftc -emit-library -o "$scratch/libRondo.so" ./*.o "${libevent[@]}"
  # What of it is C, too.
  mkdir "$scratch/inspect"
  cd "$scratch/inspect"
  clang -fPIC -c "$tree"/Sources/CRondoInspect/*.c -I "$tree/Sources/CRondoInspect/include" -I "$tree/Sources/CLinux"
  swiftc "${flags[@]}" "${link[@]}" "${maps[@]}" -wmo -module-name RondoInspect "${inspect[@]}" ./*.o \
    -emit-library -o "$scratch/libRondoInspect.so" -emit-module -emit-module-path "$scratch/RondoInspect.swiftmodule" \
    -lRondo
  swiftc "${flags[@]}" "${link[@]}" "${maps[@]}" -wmo -module-name RondoTesting "${testing[@]}" \
    -emit-library -o "$scratch/libRondoTesting.so" -emit-module -emit-module-path "$scratch/RondoTesting.swiftmodule" \
    -lRondo -lRondoInspect
  cat >"$scratch/Main.swift" <<'MAIN'
    import Testing
    @main struct Main { static func main() async { await Testing.__swiftPMEntryPoint() as Never } }
MAIN
  cd "$scratch/objects"
  # What the tests have besides: Swift and C.
  swiftc "${flags[@]}" "${maps[@]}" -wmo -c -module-name RondoTestSupport "$tree"/Tests/TestSupport/*.swift \
    -emit-module -emit-module-path "$scratch/RondoTestSupport.swiftmodule" -o RondoTestSupport.o -lRondo
  local c=$tree/Tests/CTests
  clang -c "$c"/*.c -I "$c/include"
  echo "module CTests { umbrella \"$c/include\" export * }" >"$scratch/c.modulemap"
  compile "${maps[@]}" -Xcc "-fmodule-map-file=$scratch/c.modulemap" -module-name RondoTests \
    "$tree"/Tests/RondoTests/*.swift "$scratch/Main.swift"
  swiftc "${link[@]}" ./*.o -lRondo -lRondoTesting -lRondoInspect "${libevent[@]}" -levent_extra -o "$scratch/tests"
)

# Compiles the core with the one file that a mutant has changed, in the mutant's directory.
build_mutant() (
  cd "$1"
  local maps objects file
  if [[ $2 == *.swift ]]; then
    # A body is nothing to the other files, so their objects are what they were.
    mapfile -t maps < <(maps "$tree/Sources")
    local sources=()
    for file in "${core[@]}"; do
      # In their order, which the compiler's answers may depend on.
      if [[ $file == "$tree/$2" ]]; then sources+=(-primary-file "$1/$(basename "$2")"); else sources+=("$file"); fi
    done
    for file in "$scratch"/core/*.o; do if [[ $file != */$(basename "$2" .swift).o ]]; then objects+=("$file"); fi; done
    swiftc -frontend -c "${flags[@]}" "${maps[@]}" -module-name Rondo "${sources[@]}" -o mutant.o || exit
    objects+=(mutant.o)
  else
    # What is in a header is in every object.
    mkdir objects
    cp -r "$tree"/Sources/{CLinux,CLibevent,CRondoInspect} .
    cp "$(basename "$2")" "${2#Sources/}"
    mapfile -t maps < <(maps "$1")
    (cd objects && compile "${maps[@]}" -module-name Rondo "${core[@]}") || exit
    objects=(objects/*.o)
  fi
  swiftc -emit-library -o libRondo.so "${objects[@]}" "${libevent[@]}"
)

# Runs the tests of the program in a directory whose names match what is in a file of that directory.
check() {
  local filters=() pattern
  while read -r pattern; do filters+=(--filter "$pattern"); done <"$1/patterns"
  if [[ ${TESTS:-} == all ]]; then filters=(); fi
  # Tests that an alarm would end are not kept long. `exit`, so that it is not for this shell to say how one was ended.
  (cd "$1" && timeout --kill-after=2 "$limit" env "$marker/$(basename "$1")/=" RONDO_ALARM=5 ./tests "${filters[@]}" || exit $?) \
    >"$1/log" 2>&1
}

complain() {
  echo "$2"
  tail -40 "$1"
  exit 1
}

for mutant in "${chosen[@]}"; do header "$mutant" tests; done | sort -u >"$scratch/patterns"
# Not in a condition, in which no command would count.
build_tests >"$scratch/log" 2>&1 &
wait $! || complain "$scratch/log" 'The unmutated tree does not build.'
mkdir "$scratch/unmutated"
cp "$scratch"/{tests,libRondo.so,libRondoInspect.so,libRondoTesting.so,patterns} "$scratch/unmutated"
"$scratch/tests" --list-tests >"$scratch/list"
for mutant in "${chosen[@]}"; do
  header "$mutant" tests >"$scratch/wanted"
  [[ -s $scratch/wanted ]] || { echo "$(basename "$mutant") names no tests."; exit 1; }
  while read -r pattern; do
    grep -qE "$pattern" "$scratch/list" || { echo "$(basename "$mutant"): there is no test like $pattern."; exit 1; }
  done <"$scratch/wanted"
done
check "$scratch/unmutated" || complain "$scratch/unmutated/log" 'The unmutated tree fails.'
echo "The unmutated tree passes after $SECONDS s."

# MARK: The mutants

# Tries one mutant; leaves a word in its directory if all is not well.
try() {
  local mutant=$1 name file status=0 started=$SECONDS
  name=$(basename "$mutant" .mutant)
  file=$(header "$mutant" file)
  local dir=$scratch/$name
  mkdir "$dir"
  cp "$scratch"/{tests,libRondoInspect.so,libRondoTesting.so} "$dir"
  header "$mutant" tests >"$dir/patterns"
  mutate "$mutant" "$file" "$dir" "$tree"
  if ! build_mutant "$dir" "$file" >"$dir/log" 2>&1; then
    echo "DOES NOT BUILD: $name"
    grep -m 5 error: "$dir/log" || true
    touch "$dir/failed"
  else
    # What shows that a loop spins needs a free processor: a busy machine gets a second and a third look.
    for _ in 1 2 3; do
      status=0
      check "$dir" || status=$?
      end_leftovers "$name/"
      ((status == 0)) || break
    done
    # What cannot even begin has caught nothing.
    grep -q 'Test run started' "$dir/log" || status=none
    case $status in
      none)
        echo "DOES NOT RUN: $name"
        tail -5 "$dir/log"
        touch "$dir/failed"
        ;;
      0)
        echo "SURVIVED: $name"
        touch "$dir/failed"
        ;;
      124 | 137)
        echo "HANGS: $name. What catches it needs a limit of its own."
        touch "$dir/failed"
        ;;
      *) echo "caught: $name ($((SECONDS - started)) s)" ;;
    esac
    if [[ ${TESTS:-} == all ]]; then
      sed -n 's/^.*✘[^ ]* \(Test ".*failed after.*\)/  \1/p; /Fatal error/p; /Precondition failed/p' "$dir/log" | sort -u
    fi
  fi
  # What is kept is small.
  find "$dir" -mindepth 1 ! -name failed ! -name log -delete
}

running=0
for mutant in "${chosen[@]}"; do
  if (( running == jobs )); then
    wait -n
    running=$((running - 1))
  fi
  try "$mutant" &
  running=$((running + 1))
done
wait

failed=("$scratch"/*/failed)
echo "${#chosen[@]} mutants of $concerned in $SECONDS s, ${#failed[@]} not caught."
(( ! ${#failed[@]} ))

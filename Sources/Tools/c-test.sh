#!/usr/bin/env bash
# Installs librondo.so as a stranger would, and has each compiler there is make the examples with it: what they print is
# what their first comment says. `make c-test`.
set -euo pipefail
cd "$(dirname "$0")/../.."
stage=$PWD/.build/c-test
examples=Sources/Examples/rondo-c
failures=0

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  failures=$((failures + 1))
}

# What an example says that it prints: the indented lines after the one that says so.
expected() {
  awk '
    { sub(/^\/\/ ?/, "") }
    /It prints/ { begun = 1; next }
    begun && /^$/ { if (seen) exit; next }
    begun && !/^ / { exit }
    begun { seen = 1; sub(/^ +/, ""); print }' "$1"
}

# Runs a program, and compares.
try() {
  local name=$1 source=$2
  shift 2
  local said
  if ! said=$(LD_LIBRARY_PATH=$(dirname "$library") timeout 60 "$@" 2>&1); then
    fail "$name: it ended with an error: $said"
  elif [[ $said != "$(expected "$source")" ]]; then
    fail "$name printed:"$'\n'"$said"
  else
    printf 'ok: %s\n' "$name"
  fi
}

warnings=(-Wall -Wextra -pedantic -Werror)
rm -rf "$stage"
mkdir -p "$stage"

# A real server for hiredis and its own adapter for CFRunLoop; it listens in the stage alone, and keeps nothing.
redis=$stage/redis
if command -v redis-server >/dev/null && pkg-config --exists hiredis; then
  redis-server --port 0 --unixsocket "$redis" --save '' --appendonly no --dir "$stage" >"$stage/redis.log" &
  trap "kill $!" EXIT
fi

# Whether hiredis talks on a loop of Rondo's by an adapter that knows nothing of it, and gets each reply, in order.
try_hiredis() {
  local name=$1 compiler=$2 program=$3 include=$4 load said
  shift 4
  if ! pkg-config --exists hiredis || [[ ! -S $redis ]]; then
    echo "skipped: $name: hiredis or redis-server is not installed"
    return
  fi
  if ! $compiler -std=gnu11 -Wall -Wextra -Werror -I"$include/rondo" Sources/Examples/hiredis/cfrunloop.c "$@" \
    -lhiredis -pthread -o "$program"; then
    fail "$name: it does not compile"
    return
  fi
  for load in '10000 1' '100000 100'; do
    # shellcheck disable=SC2086
    said=$(LD_LIBRARY_PATH=$(dirname "$library") timeout 60 "$program" "$redis" $load 2>&1) || true
    if [[ $said == "${load% *} replies in order" ]]; then printf 'ok: %s, %s\n' "$name" "$said"
    else fail "$name, $load: $said"; fi
  done
}

# A program that has libdispatch from elsewhere than the library. Its headers want clang, so it declares what it uses.
dispatch=$(swiftc -print-target-info | sed -n '/runtimeLibraryPaths/{n;s/.*"\(.*\)".*/\1/p;}')
cat >"$stage/dispatch.c" <<'END'
// It prints:
//
//   served by the loop
//   stopped

#include <rondo.h>
#include <stdio.h>

extern struct dispatch_queue_s _dispatch_main_q;
void dispatch_async_f(struct dispatch_queue_s *queue, void *context, void (*work)(void *));

static void serve(void *loop) {
  printf("served by the loop\n");
  rondo_loop_stop(loop);
}

int main(void) {
  rondo_loop *loop;
  if (rondo_loop_current(&loop) < 0) return 1;
  dispatch_async_f(&_dispatch_main_q, loop, serve);
  int result = rondo_loop_run(loop, NULL, 30 * RONDO_SECOND, 0);
  printf("%s\n", result == RONDO_STOPPED ? "stopped" : "not served");
  return 0;
}
END
for form in inside shared; do
  # One below a prefix, the other below a root that is not its own.
  if [[ $form == inside ]]; then
    prefix=$stage/inside root=
  else
    prefix=/usr root=$stage/shared
  fi
  make --no-print-directory install PREFIX="$prefix" DESTDIR="$root" RUNTIME=$form
  library=$root$prefix/lib/librondo.so
  read -ra flags < <(
    PKG_CONFIG_PATH=$root$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
      PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --cflags --libs rondo)

  # It exports what the headers declare, each with its version, and nothing else.
  if ! diff <(nm -D --defined-only "$library" | awk '$2 ~ /[BDRT]/ { print $3 }' | sort) \
    <(awk '/[{]$/ { node = $1 } /^    [A-Za-z]/ { sub(/;/, ""); print $1 "@@" node }' Sources/CRondo/Library/rondo.map |
      sort); then
    fail "$form: what is exported is not what rondo.map says"
  fi
  has_runtime=$(readelf -d "$library" | grep -c 'NEEDED.*libswift' || true)
  if [[ $form == inside && $has_runtime != 0 || $form == shared && $has_runtime == 0 ]]; then
    fail "$form: it needs $has_runtime libraries of Swift's"
  fi
  # The command that asks a process comes with it, and needs Swift's runtime from the same place.
  command=$root$prefix/bin/rondo-inspect
  if ! "$command" --help | grep -q '^usage: rondo-inspect PROCESS'; then fail "$form: rondo-inspect has no usage"; fi
  has_runtime=$(readelf -d "$command" | grep -c 'NEEDED.*libswift' || true)
  if [[ $form == inside && $has_runtime != 0 || $form == shared && $has_runtime == 0 ]]; then
    fail "$form: rondo-inspect needs $has_runtime libraries of Swift's"
  fi
  # A program in C reads the same variable of the environment as one in Swift.
  program=$stage/asked-$form
  cc -x c - "${flags[@]}" -o "$program" <<<'int rondo_version(void); int main(void) { return rondo_version() == 0; }'
  if ! RONDO_INSPECT=none LD_LIBRARY_PATH=$(dirname "$library") "$program" 2>&1 | grep -q 'RONDO_INSPECT=none is none'; then
    fail "$form: RONDO_INSPECT is not read"
  fi
  size=$(stat -L -c %s "$library")
  ((size < 10000000)) || fail "$form: $size bytes"

  for compiler in gcc clang; do
    if ! command -v $compiler >/dev/null; then
      echo "skipped: $compiler is not installed"
      continue
    fi
    for source in "$examples"/*.c; do
      name="$(basename "$source"), $compiler, $form"
      program=$stage/$(basename "$source" .c)-$compiler-$form
      if $compiler -std=c99 -D_DEFAULT_SOURCE "${warnings[@]}" "$source" "${flags[@]}" -pthread -o "$program"; then
        try "$name" "$source" "$program"
      else
        fail "$name: it does not compile"
      fi
    done
    name="the main dispatch queue, $compiler, $form"
    program=$stage/dispatch-$compiler-$form
    if [[ ! -f $dispatch/libdispatch.so ]]; then
      echo "skipped: $name: there is no libdispatch"
    elif $compiler -std=c99 "${warnings[@]}" "$stage/dispatch.c" "${flags[@]}" -L"$dispatch" -ldispatch \
      -Wl,-rpath,"$dispatch" -pthread -o "$program"; then
      try "$name" "$stage/dispatch.c" "$program"
    else
      fail "$name: it does not compile"
    fi
    try_hiredis "hiredis on CFRunLoop, $compiler, $form" "$compiler" "$stage/hiredis-$compiler-$form" \
      "$root$prefix/include" "${flags[@]}"
    # The listings of CFRunLoop's family: with the compilers that have no blocks, too.
    name="listings of CFRunLoop's family, $compiler, $form"
    program=$stage/listings-$compiler-$form
    if [[ ! -f $dispatch/libdispatch.so ]]; then
      echo "skipped: $name: there is no libdispatch"
    elif $compiler -std=gnu11 -DRONDO "${warnings[@]}" Sources/Examples/CFRunLoop/listings-c/*.c "${flags[@]}" \
      -L"$dispatch" -ldispatch -Wl,-rpath,"$dispatch" -pthread -o "$program"; then
      for listing in whole names check-in descriptors; do
        said=$(LD_LIBRARY_PATH=$(dirname "$library") timeout 60 "$program" $listing 2>/dev/null) || fail "$name: $listing"
        # What each prints is compared with CoreFoundation, or to the word, by the tests of the examples.
        (($(wc -l <<<"$said") > 6)) || fail "$name: $listing printed: $said"
      done
      printf 'ok: %s\n' "$name"
    else
      fail "$name: it does not compile"
    fi
  done
  for compiler in g++ clang++; do
    if ! command -v $compiler >/dev/null; then
      echo "skipped: $compiler is not installed"
      continue
    fi
    for source in "$examples"/*.cpp; do
      name="$(basename "$source"), $compiler, $form"
      program=$stage/$(basename "$source" .cpp)-$compiler-$form
      if $compiler -std=c++11 "${warnings[@]}" "$source" "${flags[@]}" -pthread -o "$program"; then
        try "$name" "$source" "$program"
      else
        fail "$name: it does not compile"
      fi
    done
  done
  if python3 -c 'import ctypes' 2>/dev/null; then
    for source in "$examples"/*.py; do try "$(basename "$source"), $form" "$source" python3 "$source"; done
  else
    echo 'skipped: python3 is not installed'
  fi
done
((failures == 0)) || { echo "$failures failures" >&2; exit 1; }

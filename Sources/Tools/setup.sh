#!/usr/bin/env bash
# Installs what is missing on a Debian machine that has a Swift toolchain: `make setup`.
#
#   setup.sh [bench] [c] [counts]
#
# What every build needs, and what each argument needs besides.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if ! command -v swift >/dev/null; then
  echo 'No Swift toolchain on the PATH. Rondo needs Swift 6.3 or later: https://www.swift.org/install/linux/' >&2
  exit 1
fi
version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p') || true
if [[ "$(printf '%s\n' 6.3 "$version" | sort --version-sort | head -n 1)" != 6.3 ]]; then
  echo "This is Swift ${version:-of an unknown version}. Rondo needs Swift 6.3 or later:" \
    'https://www.swift.org/install/linux/' >&2
  exit 1
fi

missing=()
has_program() { command -v "$1" >/dev/null || missing+=("${@:2}"); }
has_library() { pkg-config --exists "$1" 2>/dev/null || missing+=("$2"); }

has_program pkg-config pkg-config
has_program strace strace
has_program python3 python3-minimal
[[ -e /usr/include/event2/event.h ]] || has_library libevent_core libevent-dev
for part; do
  case $part in
    bench)
      # The benchmarks' peers, and libraries that are guests of a loop.
      has_library libuv libuv1-dev
      has_library glib-2.0 libglib2.0-dev
      has_library libsystemd libsystemd-dev
      has_library openssl libssl-dev
      has_library libcurl libcurl4-openssl-dev
      has_library hiredis libhiredis-dev
      # libev alone has no pkg-config file.
      [[ -e /usr/include/ev.h ]] || missing+=(libev-dev)
      ;;
    c)
      # The C API is tested with other compilers than the toolchain's, and from Python.
      has_program gcc gcc libc6-dev
      has_program g++ g++
      has_program nm binutils
      # A library with an adapter for CFRunLoop, and what it talks to.
      has_library hiredis libhiredis-dev
      has_program redis-server redis-server
      ;;
    counts)
      has_program valgrind valgrind
      has_program objdump binutils
      # The peers that the counts are compared with.
      has_program cc gcc libc6-dev
      has_library libuv libuv1-dev
      ;;
    *)
      echo "Nothing is known of '$part'." >&2
      exit 1
      ;;
  esac
done
source "$here/install.sh"

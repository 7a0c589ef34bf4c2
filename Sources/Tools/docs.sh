#!/usr/bin/env bash
# Makes the documentation of each product, as DocC's archives in .build/docs: `make docs`.
set -euo pipefail
cd "$(dirname "$0")/../.."
docs=$PWD/.build/docs
scratch=$docs/build
docc=$(dirname "$(readlink -f "$(command -v swift)")")/docc
[[ -x $docc ]] || docc=$(command -v docc) || { echo 'This Swift toolchain has no docc.' >&2; exit 1; }
products=$(sed -nE 's/^    \.library\(name: "([A-Za-z]+)".*/\1/p' Package.swift)
# What needs another package is documented with it; what needs another library's headers, with them if they are there.
traits=(Log Metrics ServiceLifecycle TLS)
! pkg-config --exists glib-2.0 || traits+=(GLib)
! pkg-config --exists libuv || traits+=(Libuv)
chosen=(--traits "$(IFS=,; echo "${traits[*]}")")
# What is resolved for these traits is not for builds without them.
[[ -e Package.resolved ]] || trap 'rm -f Package.resolved' EXIT
includes=()
for flag in $(pkg-config --cflags-only-I glib-2.0 libuv 2>/dev/null || true); do includes+=(-Xcc "$flag"); done
# SwiftNIO is built once, with the tests of what needs it.
protocols=' RondoHTTP RondoHummingbird RondoNIO RondoTLS '
for product in $products; do
  if [[ $protocols == *" $product "* ]]; then
    built=$PWD/.build/protocols
    swift build --package-path Tests/Protocols --scratch-path "$built" --build-tests
  else
    built=$scratch
    swift build --target $product --scratch-path "$scratch" "${chosen[@]}"
  fi
  rm -rf "$docs/graphs/$product"
  mkdir -p "$docs/graphs/$product"
  # The modules in C that it may have: written by hand, or by SwiftPM.
  maps=()
  for map in Sources/{,Adapters/}*/{,include/}module.modulemap "$built"/debug/C*.build/module.modulemap \
    "$built"/checkouts/*/Sources/*/include/module.modulemap; do
    [[ ! -e $map ]] || maps+=(-Xcc "-fmodule-map-file=$map")
  done
  # Extracted, not emitted by the compiler: that would put all of Foundation into what re-exports it.
  swift symbolgraph-extract -module-name $product -target "$(uname -m)-unknown-linux-gnu" \
    -I "$built/debug/Modules" -output-dir "$docs/graphs/$product" -emit-extension-block-symbols \
    -skip-synthesized-members "${maps[@]}" "${includes[@]}"
  folder=Sources/$product
  [[ -d $folder ]] || folder=Sources/Adapters/$product
  "$docc" convert $folder/$product.docc \
    --fallback-display-name $product --fallback-bundle-identifier $product --transform-for-static-hosting \
    --additional-symbol-graph-dir "$docs/graphs/$product" --output-path "$docs/$product.doccarchive" \
    &>"$docs/$product.log" || { cat "$docs/$product.log" >&2; exit 1; }
  # A parameter whose name says what it is needs no words.
  if grep -E '^(warning|error):' "$docs/$product.log" | grep -vE "^warning: Parameter '.*' is missing documentation"; then
    echo "DocC has warned of $product: .build/docs/$product.log" >&2
    exit 1
  fi
done
echo "To read it: $docc preview Sources/Rondo/Rondo.docc --additional-symbol-graph-dir .build/docs/graphs/Rondo"

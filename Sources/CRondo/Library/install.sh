#!/usr/bin/env bash
# Builds librondo.so, and installs it with its headers and its pkg-config file, and rondo-inspect beside them:
# `make install`.
#
#   install.sh PREFIX DESTDIR RUNTIME
#
# RUNTIME says where Swift's runtime is: `inside` the library, which then is one file, or `shared` with other programs, in
# the toolchain's directory. The two are the same objects, linked differently. The command is built in the same way.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
prefix=$1 destination=$2 runtime=$3

case $prefix in
  /*) ;;
  *) echo "PREFIX has to be an absolute path, not '$prefix'." >&2; exit 1 ;;
esac

number() { awk -v name="RONDO_VERSION_$1" '$2 == name { print $3 }' "$here/../include/rondo.h"; }
major=$(number MAJOR)
version=$major.$(number MINOR)
library=librondo.so.$version

# In a directory of its own: without this flag the objects ask for libraries of regular expressions.
scratch=.build/install
flags=(-Xswiftc -Xfrontend -Xswiftc -disable-implicit-string-processing-module-import)
for target in RondoC RondoCF; do swift build -c release --scratch-path "$scratch" "${flags[@]}" --target $target; done
objects=$(swift build -c release --scratch-path "$scratch" "${flags[@]}" --show-bin-path)
# Reports and message ports are in no turn of a loop: for size.
small=(-c release --scratch-path "$scratch-small" "${flags[@]}" -Xswiftc -Osize)
for target in RondoInspect RondoPorts; do swift build "${small[@]}" --target $target; done
seldom=$(swift build "${small[@]}" --show-bin-path)

case $runtime in
  inside)
    link=(-static-stdlib -Xlinker --exclude-libs -Xlinker ALL)
    whole=(--static-swift-stdlib)
    ;;
  shared) link=() whole=() ;;
  *) echo "RUNTIME is 'inside' or 'shared', not '$runtime'." >&2; exit 1 ;;
esac
mapfile -t files < <(
  find "$objects"/{CRondoInspect,CRondo,CRondoCF,Rondo,RondoC,RondoCF}.build "$seldom"/RondoInspect.build -name '*.o' | sort)
read -ra event < <(pkg-config --libs libevent_core)
# Of the modules between, what these ask for: CFRunLoop needs neither names nor async connections.
between=$scratch/between.a
rm -f "$between"
ar rcs "$between" "$objects"/RondoSockets.build/*.o "$seldom"/{RondoAsync,RondoPorts}.build/*.o
# Not to be unloaded: threads have ends that the library has a part in.
swiftc -emit-library -o "$scratch/$library" "${files[@]}" "$between" "${event[@]}" -lBlocksRuntime "${link[@]}" \
  -Xlinker -soname=librondo.so.$major -Xlinker --version-script="$here/rondo.map" \
  -Xlinker -z -Xlinker nodelete -Xlinker --gc-sections -Xlinker --icf=safe -Xlinker --strip-all

swift build -c release --scratch-path "$scratch" "${flags[@]}" "${whole[@]}" -Xlinker -s --product rondo-inspect

bin=$destination$prefix/bin lib=$destination$prefix/lib include=$destination$prefix/include
mkdir -p "$bin" "$lib/pkgconfig" "$include/rondo/CoreFoundation"
install -m 755 "$objects/rondo-inspect" "$bin/rondo-inspect"
install -m 644 "$scratch/$library" "$lib/$library"
ln -sf "$library" "$lib/librondo.so.$major"
ln -sf librondo.so.$major "$lib/librondo.so"
install -m 644 "$here/../include/rondo.h" "$include/rondo.h"
headers=$here/../../CRondoCF/include/rondo
install -m 644 -t "$include/rondo" "$headers"/*.h
install -m 644 -t "$include/rondo/CoreFoundation" "$headers"/CoreFoundation/*.h
sed -e "s|@prefix@|$prefix|" -e "s|@version@|$version|" "$here/rondo.pc.in" >"$scratch/rondo.pc"
install -m 644 "$scratch/rondo.pc" "$lib/pkgconfig/rondo.pc"
echo "Installed $lib/$library ($(stat -c %s "$lib/$library") bytes), $lib/pkgconfig/rondo.pc,"
echo "$include/rondo.h, $include/rondo/CFRunLoop.h and what it includes, and $bin/rondo-inspect"

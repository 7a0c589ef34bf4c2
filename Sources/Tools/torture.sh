#!/usr/bin/env bash
# Fails each system call of some programs once, or from then on, for each errno that it may meet: `make torture`.
#
#   QUICK=1 SEED=N ONLY='PROGRAM [CALL [N|N+ [ERRNO]]]' torture.sh
#
# What is unexplained is printed with what makes it happen again; which programs, calls and errnos there are, and what
# explains a run, is in torture_programs.py and torture.py. QUICK tries one errno a call, and 300 runs at most; the seed,
# which is printed, says which.
set -euo pipefail
cd "$(dirname "$0")/../.."
Sources/Tools/setup.sh c

package=(--package-path Sources/Examples --scratch-path .build/examples)
for product in foundation-probe rondo-stuck; do swift build --product "$product"; done
swift build --target RondoC
swift build "${package[@]}"
built=$(cd "$(swift build --show-bin-path)" && pwd -P)
examples=$(cd "$(swift build "${package[@]}" --show-bin-path)" && pwd -P)

# The examples in C, with the objects of librondo.so.
mkdir -p "$built/torture-c"
mapfile -t objects < <(find "$built"/{CRondoInspect,CRondo,Rondo,RondoC,RondoInspect}.build -name '*.o' | sort)
read -ra event < <(pkg-config --libs libevent_core)
for example in echo host workers; do
  program=$built/torture-c/$example
  clang -D_DEFAULT_SOURCE -ISources/CRondo/include -c "Sources/Examples/rondo-c/$example.c" -o "$program.o"
  swiftc -o "$program" "$program.o" "${objects[@]}" "${event[@]}"
done

arguments=()
[[ -z ${QUICK:-} ]] || arguments+=(--quick)
[[ -z ${SEED:-} ]] || arguments+=(--seed "$SEED")
[[ -z ${ONLY:-} ]] || arguments+=(--only "$ONLY")
exec python3 -B Sources/Tools/torture.py "$built" "$examples" "${arguments[@]}"

#!/usr/bin/env bash
# Fuzzes the decoders of frames under the address sanitizer, RUNS inputs each: `make fuzz`.
#
# What breaks one is left in .build/fuzz/found. SwiftPM compiles the decoders and the properties that have to hold, as
# it does for the tests, so what they import is no matter; each property is linked with libFuzzer's main function.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=.build/fuzz
sanitizers=(--sanitize=fuzzer --sanitize=address)

swift build -c release "${sanitizers[@]}" --scratch-path $build --target RondoFuzz
objects=$(swift build -c release "${sanitizers[@]}" --scratch-path $build --show-bin-path)
mapfile -t files < <(find "$objects" -name '*.o' | sort)
read -ra event < <(pkg-config --libs libevent_core)
mkdir -p $build/found
for decoder in message-port socket-port; do
  mkdir -p $build/corpus/$decoder
  swiftc -sanitize=fuzzer,address -o $build/$decoder "${files[@]}" "${event[@]}" \
    -Xlinker --defsym=LLVMFuzzerTestOneInput=rondo_fuzz_${decoder//-/_}
  $build/$decoder -runs="$RUNS" -max_total_time=120 -max_len=8192 -timeout=10 -print_final_stats=1 \
    -artifact_prefix=$build/found/$decoder- $build/corpus/$decoder Tests/Fuzz/corpus/$decoder
done

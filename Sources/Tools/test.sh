#!/usr/bin/env bash
# Runs the tests, and repeats at the end what failed: `make test`. What they print is in .build/test.log as well.
set -euo pipefail
cd "$(dirname "$0")/../.."
source Sources/Tools/leftovers.sh
# For building and testing. A run takes three minutes, and ten on a slow machine.
minutes=30
mkdir -p .build
status=0
env "$marker/=" timeout --kill-after=10 ${minutes}m swift test 2>&1 | tee .build/test.log || status=$?
end_leftovers
((status)) || exit 0
# A thousand tests may lie between a failure and the end of what they print.
printf '\nWhat failed:\n'
awk '/^[◇✔]/ { failed = 0 } /^✘/ { failed = 1 } failed || /: error:|^error:|Fatal error|(Assertion|Precondition) failed|\*\*\* Program crashed| crashed:$/' .build/test.log
# timeout(1) says so by its status.
((status != 124 && status != 137)) || echo "The tests had not ended after $minutes minutes."
exit 1

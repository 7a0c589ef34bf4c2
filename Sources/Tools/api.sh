#!/usr/bin/env bash
# Compares the public declarations in Swift and in C with those of an earlier commit: `make api`.
#
# The commit is SINCE, or the newest tag: a release makes the promise. Each declaration that was removed or changed since is
# printed and fails. What a major version may break is listed in api-breaks.txt, one a line as it is printed here.
set -euo pipefail
cd "$(dirname "$0")/../.."
since=${SINCE:-$(git describe --tags --abbrev=0 2>/dev/null || true)}
if [[ -z $since ]]; then
  echo 'There is no tag to compare with. SINCE=COMMIT names a commit.'
  exit
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
allowed=$scratch/allowed
cat Sources/Tools/api-breaks.txt >"$allowed" 2>/dev/null || true

# The declarations of a header as the compiler understands them, without those of other headers.
declared() {
  clang -fsyntax-only -Xclang -ast-print -I"$1/Sources/CRondo/include" -I"$1/Sources/CRondoCF/include" "$1/Sources/$2" |
    grep -E '(rondo|RONDO|Rondo|CF)' | sort -u
}

git archive "$since" Sources/CRondo/include Sources/CRondoCF/include | tar -x -C "$scratch"
for header in CRondo/include/rondo.h CRondoCF/include/rondo/CFRunLoop.h; do
  declared "$scratch" $header >"$scratch/old"
  declared . $header >"$scratch/new"
  comm -23 "$scratch/old" "$scratch/new" | sed "s|^|${header##*/}: |" | grep -vxFf "$allowed" && failures=1
done

# Adapters are empty without their traits.
products=$(sed -nE 's/^    \.library\(name: "(Rondo[A-Za-z]*)".*/\1/p' Package.swift |
  grep -vxE 'RondoC|RondoCoreFoundation|Rondo(HTTP|Hummingbird|Log|Metrics|NIO|ServiceLifecycle|TLS)')
swift package --scratch-path .build/api diagnose-api-breaking-changes "$since" --products $products \
  --breakage-allowlist-path "$allowed" >"$scratch/log" 2>&1 || {
  sed -nE 's/^.*(API breakage:.*)/\1/p' "$scratch/log" | grep . || tail -n 20 "$scratch/log"
  failures=1
}
((failures == 0)) || echo "The API is not what it was at $since." >&2
exit $failures

#!/usr/bin/env bash
# Walks a stranger's way: a package of his own that depends on a tag of a bare clone, the README's server as its program, and
# a test in virtual time. Prints how long each step takes. `make stranger`.
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$scratch"' EXIT
version=$(sed -nE 's/.*version = "([0-9.]+)".*/\1/p' Sources/Rondo/API/Loop+Version.swift)

# Runs a step, and prints how long it took, or all that it printed.
step() {
  local name=$1 begin=$EPOCHREALTIME
  shift
  "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
  awk -v name="$name" -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN { printf "%s in %.0f s\n", name, end - begin }'
}

# The first Swift block of a document that has the line.
block() {
  awk -v line="$2" '
    /^```swift$/ { text = ""; inside = 1; wanted = 0; next }
    /^```$/ && inside { inside = 0; if (wanted) { printf "%s", text; exit } }
    inside { text = text $0 "\n"; if (index($0, line)) wanted = 1 }' "$1"
}

git clone --quiet --bare . "$scratch/rondo.git"
git -C "$scratch/rondo.git" tag "$version" HEAD
mkdir -p "$scratch"/echo/{Sources/echo,Tests/EchoTests}
cd "$scratch/echo"
readme=$OLDPWD/README.md testing=$OLDPWD/Sources/Rondo/Rondo.docc/Testing.md
block "$readme" swift-tools-version |
  sed "s|\.package(path: \"../rondo\")|.package(url: \"file://$scratch/rondo.git\", exact: \"$version\")|
    s|^  \])$|    .testTarget(name: \"EchoTests\", dependencies: [\n      .product(name: \"Rondo\", package: \"rondo\"), .product(name: \"RondoTesting\", package: \"rondo\"),\n    ]),\n  ])|
    s|package: \"rondo\")\])\$|package: \"rondo\")]),|" >Package.swift
block "$readme" 'import RondoServer' >Sources/echo/main.swift
{
  printf 'import Rondo\nimport RondoTesting\nimport Testing\n\n'
  block "$testing" 'final class TestedSession'
  printf '\n@Test func `a session ends when its client is quiet`() {\n'
  block "$testing" 'TestedSession(on: virtual.loop'
  printf '}\n'
} >Tests/EchoTests/EchoTests.swift

step resolved swift package resolve
grep -q "\"version\" : \"$version\"" Package.resolved || { echo "Not $version:" >&2; cat Package.resolved >&2; exit 1; }
step built swift build
mkfifo said
"$(swift build --show-bin-path)/echo" 127.0.0.1:0 >said &
server=$!
read -r line <said
echo "$line"
port=${line#*:} port=${port%%.*}
exec 3<>"/dev/tcp/127.0.0.1/$port"
echo hello >&3
read -r -t 60 answer <&3
[[ $answer == hello ]] || { echo "The server returned: $answer" >&2; exit 1; }
kill -TERM "$server"
wait "$server"
server=
step tested swift test
grep -q 'Test run with 1 test.* passed' "$scratch/log" || { cat "$scratch/log" >&2; exit 1; }

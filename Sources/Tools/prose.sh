#!/usr/bin/env bash
# Checks that the prose of the documentation gets no worse: `make lint` calls it.
#
# It compares the tics of each file, as prose.awk counts them, with prose.txt. It fails if a file has more, and if a file
# has fewer, so that the table can only go down. UPDATE=1 writes lower figures into the table, and never higher ones.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."
table=Sources/Tools/prose.txt
tics() { awk -f Sources/Tools/prose.awk "$@"; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# MARK: The counter sees

cat >"$scratch/sample.md" <<'END'
# What is told to nobody

A loop is told by nobody. Whoever asks, and for who asks, it tells.

What it does is plain. That is clear. Where it stands, it is made anew, meanwhile at once, by
hand. All the same it lasts for ever, but for one: who reads, is gone.

- It lets go of its handler; the time is over; the item goes on.
- The call answers a lock of the loop's, a set of epoll's.

| what | nobody |
|---|---|
| a cell | What one cell says of it, nobody reads |

```swift
let told = nobody
```

`What is told` is code, [a link](who/is/told.md) is none. Whether the loop's thread is free, is known. The author who
wrote this understands the output that goes to stderr.
END
cat >"$scratch/sample.swift" <<'END'
/// What is told.
func inside() {}

/// Whether it is so.
///
/// ```swift
/// let told = nobody
/// ```
///
/// - Throws: What nobody expects.
@available(
  *, noasync, message: "No.")
public func outside() {}

/// Tells.
enum Inside {
  /// Told.
  case one
}

/// A kind.
public enum Outside {
  /// At once.
  case one
}
END
cat >"$scratch/wanted" <<'END'
sample.md:3: told|nobody|whoever|for who|tells
sample.md:5: ^ what|^ that|^ where|stands|anew|meanwhile|at once|by hand|all the same|for ever|but for|: who|is gone
sample.md:8: lets go|is over|goes on
sample.md:9: call answers|of the loop's ,|of epoll's .
sample.md:13: ^ what|nobody
sample.swift:10: ^ what|nobody
sample.swift:23: at once
END
if ! diff <(awk '{ n = split(substr($0, length($1) + 2), tic, "|"); for (i = 1; i <= n; i++) print $1, tic[i] }' \
  "$scratch/wanted" | sort) <(tics -v show=1 "$scratch"/sample.* | sed "s|^$scratch/||; s/ $//" | sort) >&2; then
  echo 'The counter of tics is wrong: < what its sample has, > what it found.' >&2
  exit 2
fi

# MARK: The files

find README.md .github Sources -name '*.md' -o -name '*.swift' | sort >"$scratch/files"
xargs awk -f Sources/Tools/prose.awk <"$scratch/files" | sort -k 2 >"$scratch/now"

# `count path` of today is compared with the table: what rose fails, what sank is to be written into it.
verdict=0
awk -v update="${UPDATE:-}" '
  FILENAME == ARGV[1] { had[$2] = $1; next }
  { now[$2] = $1 }
  $1 > had[$2] + 0 { print $2 ": " $1 " tics, " had[$2] + 0 " before" >"/dev/stderr"; rose = 1 }
  END {
    for (path in had) {
      if (now[path] + 0 >= had[path]) continue
      sank = 1
      if (!update) print path ": " now[path] + 0 " tics, " had[path] " before: lower the table" >"/dev/stderr"
    }
    exit rose ? 1 : sank ? 3 : 0
  }' "$table" "$scratch/now" || verdict=$?

case $verdict in
0) ;;
3)
  if [[ -z ${UPDATE:-} ]]; then
    echo 'Good: there are fewer tics. make lint UPDATE=1 writes that into Sources/Tools/prose.txt.' >&2
    exit 1
  fi
  cp "$scratch/now" "$table"
  ;;
*)
  echo 'There are more tics of prose; .github/CONTRIBUTING.md says what to write instead:' >&2
  join -1 2 -2 2 -a 2 -e 0 -o 0,1.1,2.1 <(sort -k 2 "$table") "$scratch/now" | awk '$3 > $2 { print $1 }' |
    xargs awk -v show=1 -f Sources/Tools/prose.awk >"$scratch/found"
  head -n 40 "$scratch/found" >&2
  exit 1
  ;;
esac

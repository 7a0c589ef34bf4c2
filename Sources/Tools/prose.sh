#!/usr/bin/env bash
# Fails if a document or a comment, of Swift or C, has a tic of prose: `make lint` calls it. A document and the comment of
# a public declaration may have none, another comment none that hides the actor or the time.
#
# prose.awk has the tics; .github/CONTRIBUTING.md says what to write instead.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."

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

/// A loop of
/// nobody's is told.
let text = "// nobody \"somebody\""  // Whoever asks, at once.

// It lasts for
// ever, and is told for who asks.
let nobody = """
  // nobody
  /// nobody
  """

@safe final class Last {  // anew
  let url = "https://rondo/nobody"
}
END
cat >"$scratch/sample.c" <<'END'
// It is told meanwhile.
static int nobody;  /* all the
 * same */
static const char *text = "/* nobody", quote = '"';  // by hand
END
cat >"$scratch/wanted" <<'END'
sample.md:3: told|nobody|whoever|for who|tells
sample.md:5: ^ what|^ that|^ where|stands|anew|meanwhile|at once|by hand|all the same|for ever|but for|: who|is gone
sample.md:8: lets go|is over|goes on
sample.md:9: call answers|of the loop's ,|of epoll's .
sample.md:13: ^ what|nobody
sample.swift:10: ^ what|nobody
sample.swift:23: at once
sample.swift:27: nobody's
sample.swift:29: whoever
sample.swift:31: for ever|for who
sample.swift:38: anew
sample.c:1: meanwhile
sample.c:2: all the same
sample.c:4: by hand
END
if ! diff <(awk '{ n = split(substr($0, length($1) + 2), tic, "|"); for (i = 1; i <= n; i++) print $1, tic[i] }' \
  "$scratch/wanted" | sort) <(awk -f Sources/Tools/prose.awk "$scratch"/sample.* | sed "s|^$scratch/||; s/ $//" | sort) >&2; then
  echo 'The counter of tics is wrong: < what its sample has, > what it found.' >&2
  exit 2
fi

# MARK: The files

# The comments of public headers are read as documents, each line in its place.
for header in Sources/CRondo/include/rondo.h Sources/CRondoCF/include/rondo/*.h; do
  mkdir -p "$scratch/$(dirname "$header")"
  awk '!inside && !/\/\*/ { print ""; next }
    !inside { sub(/.*\/\*/, ""); inside = 1 }
    /\*\// { sub(/\*\/.*/, ""); inside = 0 }
    { sub(/^ *\*+ ?/, ""); sub(/^ +/, ""); print }' "$header" >"$scratch/$header.md"
done
headers=$(find "$scratch/Sources" -name '*.md')
[[ $(cat $headers | grep -c .) -gt 200 ]] || { echo 'The comments of the headers were not found.' >&2; exit 2; }

find README.md .github Sources $headers -name '*.md' -o -name '*.swift' -o -name '*.[ch]' | sort |
  xargs awk -f Sources/Tools/prose.awk | sed "s|^$scratch/||; s|\.h\.md:|.h:|" >"$scratch/found"
if [[ -s $scratch/found ]]; then
  echo 'There are tics of prose; .github/CONTRIBUTING.md says what to write instead:' >&2
  head -n 40 "$scratch/found" >&2
  exit 1
fi

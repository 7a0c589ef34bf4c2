#!/usr/bin/env bash
# Counts what one operation of each kind costs, under callgrind, and compares with expected.txt.
#
# Fails on what costs more, and on what costs less, so that the table is true. Names of operations as arguments count
# those alone. UPDATE=1 writes the new figures into the table.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
table=$root/Sources/Tools/costs/expected.txt
peers=$root/Sources/Tools/costs/peers
jobs=${JOBS:-$(nproc)}
# Per cent by which instructions may differ: a patch release of the toolchain, of libevent or of glibc changes some. All
# other counts have to be exact.
margin=2
# The processor would decide which memcpy(3) glibc takes: every one takes that of the oldest x86-64.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX2_Usable,-AVX_Fast_Unaligned_Load,-AVX512F,-AVX512VL,-BMI2,-ERMS
GLIBC_TUNABLES+=,-EVEX,-FSRM,-RTM,-SSE4_1,-SSE4_2,-SSSE3
# How many operations the two runs make. Between two powers of two, so that arrays, which double, grow as often in both.
short=600 long=850

if [[ $(uname -m) != x86_64 ]]; then
  echo 'The counts of the table are those of x86-64.' >&2
  exit 2
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

(cd "$root" && swift build -c release --product rondo-costs)
probe=$scratch/rondo-costs
# Older valgrinds give up on the debug information of newer compilers.
strip --strip-debug -o "$probe" "$(cd "$root" && swift build -c release --show-bin-path)/rondo-costs"
# An exchange with memory is locked without the prefix.
objdump --disassemble --no-show-raw-insn "$probe" |
  awk '/\tlock |\txchg .*\(/ { sub(/:$/, "", $1); print "0x" $1 }' >"$scratch/locked"

# The row of one operation of a program. The second file of a run is what came after the part that counts.
count_one() {
  local program=$1 name=$2 short=$3 long=$4 times
  local file=$scratch/$program.$name
  for times in "$short" "$long"; do
    # Tables of the runtime are hashed alike in every run.
    SWIFT_DETERMINISTIC_HASHING=1 valgrind --tool=callgrind --callgrind-out-file="$file.$times" \
      --zero-before=rondo_counted --dump-after=rondo_counted --dump-instr=yes --dump-line=no \
      --compress-strings=no --compress-pos=no "$scratch/$program" "$name" "$times" >"$file.log" 2>&1 || {
      cat "$file.log" >&2
      return 1
    }
  done
  awk -v name="$name" -v probe="$probe" -v module='$s11rondo_costs' -v short="$short" -v long="$long" \
    -f "$here/counts.awk" "$scratch/locked" "$file.$short.1" "$file.$long.1" >"$file.row"
}
export -f count_one
export here scratch probe

mapfile -t known < <("$probe" list)
names=("${@:-${known[@]}}")
(($#)) || names=("${known[@]}")

# make_peer NAME MODULE [OPTION]...: compiles the program on a peer, and adds to `counted` the operations that today's
# rows are compared with.
make_peer() {
  local name=$1 options
  pkg-config --exists "$2" || {
    echo "$2 is not installed: its column is left out."
    return 0
  }
  read -ra options < <(pkg-config --cflags --libs "$2")
  cc -O2 -Wall -Wextra -Werror "${@:3}" -o "$scratch/$name" "$peers/peers.c" "${options[@]}"
  mapfile -t -O "${#counted[@]}" counted < <(awk -v name="$name" '
    FNR == 1 { file += 1 }
    file == 1 { asked[$1]; next }
    file == 2 { known[$1]; next }
    $2 in known {
      for (i = split($1, part, "+"); i > 0; i -= 1) if (!(part[i] in asked)) next
      print name, $2, 2000, 4000
      delete known[$2]
    }' <(printf '%s\n' "${names[@]}") <("$scratch/$name" list) "$peers/expected.txt")
}
counted=("${names[@]/#/rondo-costs }")
counted=("${counted[@]/%/ $short $long}")
make_peer libevent libevent_core
make_peer libuv libuv -DLIBUV
printf '%s\n' "${counted[@]}" | xargs -P "$jobs" -L 1 bash -euo pipefail -c 'count_one "$@"' _

rows=("${names[@]/#/rondo-costs.}")
(cd "$scratch" && cat "${rows[@]/%/.row}") >"$scratch/today"
compare_peers() {
  shopt -s nullglob
  awk -v margin="$margin" "$@" -f "$here/peers.awk" by=rondo "$scratch/today" \
    by=libevent "$scratch"/libevent.*.row by=libuv "$scratch"/libuv.*.row by= "$peers/expected.txt"
}

if [[ -n ${UPDATE:-} ]]; then
  # A row that is new comes last.
  awk 'NR == FNR { row[$1] = $0; name[FNR] = $1; next } $1 in row { print row[$1]; delete row[$1]; next } { print }
    END { for (i = 1; i in name; i += 1) if (name[i] in row) print row[name[i]] }' "$scratch/today" "$table" \
    >"$scratch/table"
  cp "$scratch/table" "$table"
  compare_peers -v update=1 >"$scratch/table"
  cp "$scratch/table" "$peers/expected.txt"
fi
compare_peers

# Rows that no operation has any more are looked for when all are counted.
awk -v margin="$margin" -v all="$((!$#))" -v table="${table#"$root"/}" -f "$here/compare.awk" "$table" "$scratch/today"

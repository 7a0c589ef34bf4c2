# Prints what operations cost libevent, libuv and Rondo, and whether Rondo's meet their bars.
#
#   awk -v margin=PER_CENT [-v update=1] -f peers.awk by=rondo TODAY by=libevent ROWS by=libuv ROWS by= TABLE
#
# TODAY and ROWS are of counts.awk. With `update`, prints the table with the peers' counts of today instead.

by != "" { cost[by, $1] = $NF; next }
/^#/ || !NF || $1 == "operation" {
  if (update) print
  next
}
update {
  printf "%-29s %-15s %10s %8s %8s\n", $1, $2, counted("libevent") ? now : $3, counted("libuv") ? now : $4, $5
  next
}
{
  rondo = 0
  parts = split($1, part, "+")
  for (i = 1; i <= parts; i += 1) {
    # A sum whose parts were not all asked for.
    if (!(("rondo", part[i]) in cost)) next
    rondo += cost["rondo", part[i]]
  }
  if (!rows++) printf "%-29s %8s %8s %8s %8s\n", "instructions", "libevent", "libuv", "rondo", "bar"
  verdict = rondo <= $5 ? "met" : "not met, " rondo - $5 " too many"
  printf "%-29s %8s %8s %8d %8d  %s\n", $1, of("libevent", $3), of("libuv", $4), rondo, $5, verdict
}

function counted(peer) { return (peer, $2) in cost ? now = cost[peer, $2] : 0 }

# The peer's count, or a dash.
function of(peer, before) {
  if (!counted(peer)) return "-"
  if ((now - before) ^ 2 > (before * margin / 100) ^ 2) finding[$2 " of " peer] = now " instead of " before
  return now
}

END {
  for (name in finding) print name ": " finding[name] ". Is its version another than the table's?"
  if (rows) print ""
}

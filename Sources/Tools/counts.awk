# The cost of one operation: the difference of two callgrind files, of `short` and `long` operations.
#
#   awk -v name=… -v probe=… -v short=… -v long=… -v module=… -f counts.awk LOCKED SHORT LONG
#
# LOCKED has the addresses of the locked instructions of the program `probe`. The files are without compression and with
# addresses: a function's costs follow its name, `calls=` says how often it called the one named before, and the line
# after that is the callee's cost, which does not count here.

# The column that a call to a function counts in.
function kind_of(called) {
  # A recursive call bears a number, a function of glibc its version.
  sub(/'[0-9]+$/, "", called)
  sub(/@.*/, "", called)
  if (called ~ /^swift_/) {
    if (called ~ /(r|R)etain(Strong|StrongAndRelease)?(_n)?$/ || called ~ /^swift_weak(.*Init|.*Assign|.*Strong)$/) return "retains"
    if (called ~ /(r|R)elease(_n)?$/ || called == "swift_weakDestroy") return "releases"
  }
  if (called == "swift_allocObject") return "objects"
  if (called ~ /^(malloc|calloc|realloc|memalign|aligned_alloc|posix_memalign)$/) return "mallocs"
  if (called ~ /^swift_isUniquelyReferenced/) return "unique"
  if (called == "swift_beginAccess") return "accesses"
  return ""
}

function is_own(caller) { return index(caller, module) == 1 || caller == "rondo_counted" }

FNR == 1 { file += 1; skips = 0; object = caller = callee = "" }
file == 1 { locked[$1]; next }
# +1 for an operation of the long run, -1 for one of the short.
{ sign = file == 2 ? -1 : 1 }
/^ob=/ { object = substr($0, 4); next }
/^fn=/ { caller = substr($0, 4); next }
/^cfn=/ { callee = substr($0, 5); next }
/^calls=/ {
  skips = 1
  kind = kind_of(callee)
  # A variant that hands on to another of its kind is one call.
  if (kind == "" || kind == kind_of(caller)) next
  split($1, parts, "=")
  cost[kind] += sign * parts[2]
  if (is_own(caller)) cost["caller"] += sign * parts[2]
  next
}
/^0x/ {
  if (skips) { skips = 0; next }
  cost["all"] += sign * $2
  if (object != probe) next
  if (!is_own(caller)) cost["rondo"] += sign * $2
  if ($1 in locked) cost["locked"] += sign * $2
}

# By operation; what happens for some of them only, to a hundredth.
function value_of(kind, value) {
  value = cost[kind] / (long - short)
  return value == int(value) ? sprintf("%d", value) : sprintf("%.2f", value)
}

END {
  printf "%-17s", name
  number = split("retains releases objects mallocs unique accesses locked caller", kinds, " ")
  for (i = 1; i <= number; i += 1) printf " %8s", value_of(kinds[i])
  printf " %9.0f %9.0f\n", cost["rondo"] / (long - short), cost["all"] / (long - short)
}

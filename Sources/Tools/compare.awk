# Prints the rows of today beside the table's, what differs, and the lines to put in; fails if anything differs.
#
#   awk -v margin=PER_CENT -v all=WHETHER_EVERY_OPERATION_WAS_COUNTED -v table=NAME -f compare.awk TABLE TODAY

NR == FNR && $1 == "operation" { header = $0; columns = split($0, column); next }
NR == FNR && (/^#/ || !NF) { next }
NR == FNR { expected[$1] = $0; next }

FNR == 1 { print header }
{
  print
  today[$1]
  if (!($1 in expected)) {
    finding[++findings] = $1 ": is not in the table"
  } else {
    split(expected[$1], old)
    before = findings
    for (i = 2; i <= columns; i += 1) {
      if (column[i] ~ /^instr/ ? within(old[i], $i) : old[i] == $i) continue
      finding[++findings] = sprintf("%s: %s %s instead of %s, %s", $1, column[i], $i, old[i], $i + 0 > old[i] + 0 ? "worse" : "better")
    }
    if (findings == before) next
    print expected[$1] "   expected"
  }
  line[++lines] = $0
}

function within(old, new) { return (new - old) ^ 2 <= (old * margin / 100) ^ 2 }

END {
  if (all) {
    for (name in expected) if (!(name in today)) finding[++findings] = name ": is in the table and is no operation"
  }
  if (!findings) {
    print "As in the table, instructions within " margin " %."
    exit 0
  }
  print ""
  for (i = 1; i <= findings; i += 1) print finding[i]
  if (lines) print "\nFor " table ", by hand or by UPDATE=1:"
  for (i = 1; i <= lines; i += 1) print line[i]
  exit 1
}

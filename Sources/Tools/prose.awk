# Finds the tics of prose in documents and in comments: `path:line: tic`, one line a tic.
#
#   awk -f prose.awk FILE...
#
# In a .md file, everything counts but code, headings and links' targets; in a .swift, .h or .c file, comments. Those of
# three strokes before public declarations, and before the cases of public enums, may have no tic; all others may have
# those that hide the actor or the time. The line is the one that the paragraph begins at.

BEGIN {
  # Words stand between single blanks, punctuation is a word of its own, and "^" begins a sentence.
  n = 0
  add("nobody|somebody|nobody's|somebody's|whoever|whomever")
  add("anew|meanwhile|by hand|in his hands|all the same|for ever")
  add("(for|of|from|and|but|or|if|to|by|with|[.,;:^]) who")
  everywhere = n
  add("\\^ (what|who|whose|that|where)")
  add("told|tells")
  add("at once|but for")
  add("(let|lets|letting) go")
  add("(is|are|was|were|be) over")
  add("(stand|stands|stood)")
  add("(is|are|was|has|have|had|be|been) gone|goes (on|by|away|when|once|with its)|(goes|go) [.,;:)]")
  add("(it|which|that|loop|call|function|method|handler|process|and|nothing) answers")
  add("of ((the|a|an|this|another|any|each) )?[a-z]+'s ([.,;:)]|and|or|is|are|in|on|that|which|to|with|by|for|as|when|if)")
}

function add(pattern) { tics[++n] = " (" pattern ") " }

function isDocument() { return FILENAME ~ /\.md$/ }

# The paragraph that has been gathered: what it says, where it began, and which tics it may not have.
function flush(    text, i, rest) {
  if (paragraph == "") return
  text = " ^ " paragraph " "
  paragraph = ""
  gsub(/`[^`]*`/, "X", text)
  gsub(/\]\([^)]*\)|<[^>]*>/, " ", text)
  gsub(/[*_]/, "", text)
  gsub(/[.!?]\)? +["(]?[A-Z]/, ". ^ &", text)
  sub(/\^ +- +(Parameter +[A-Za-z]+: +|Throws: +|Returns: +|Parameters: *)?/, "^ ", text)
  sub(/\^ +- +[A-Za-z]+: +/, "^ ", text)
  # The end of the sentence before has been kept beside the mark.
  gsub(/\^ [.!?]\)? +/, "^ ", text)
  gsub(/[.,;:()!?|]/, " & ", text)
  text = tolower(text)
  gsub(/[^a-z0-9'.,;:()^ -]/, " ", text)
  gsub(/ +/, " ", text)
  for (i = 1; i <= most; i++) {
    rest = text
    while (match(rest, tics[i])) {
      print file ":" begun ":" substr(rest, RSTART, RLENGTH)
      # The blank behind a tic is the one before the next.
      rest = substr(rest, RSTART + RLENGTH - 1)
    }
  }
}

function gather(text) {
  if (text ~ /^ *$/) { flush(); return }
  # An item of a list, a cell of a table: a sentence of its own.
  if (text ~ /^ *([-*]|[0-9]+\.) /) { flush(); sub(/^ *([*]|[0-9]+\.) /, "- ", text) }
  if (text ~ /^\|/) { flush(); row(text); return }
  if (paragraph == "") begun = line
  paragraph = paragraph " " text
}

function row(text,    cells, words, i, cellCount) {
  cellCount = split(text, cells, /\|/)
  for (i = 1; i <= cellCount; i++) {
    gsub(/^ +| +$/, "", cells[i])
    # A heading of a column is no sentence.
    if (split(cells[i], words, / +/) > 3) { begun = line; paragraph = cells[i]; flush() }
  }
}

# A comment of two strokes, or between /* and */, as far as it is in the line. What is quoted is none.
function aside(text,    rest) {
  if (isBlock) {
    rest = text
    isBlock = !sub(/\*\/.*/, "", rest)
    sub(/^ *\*+ ?/, "", rest)
    return rest
  }
  gsub(/\\.|\047"\047/, "", text)
  if (gsub(/"""/, "", text) % 2) { isQuote = !isQuote; return "" }
  if (isQuote) return ""
  gsub(/"[^"]*"/, "", text)
  if (!match(text, /\/\/+|\/\*+/)) return ""
  rest = substr(text, RSTART + RLENGTH)
  if (substr(text, RSTART + 1, 1) == "*") isBlock = !sub(/\*\/.*/, "", rest)
  return rest
}

# How many parentheses a line leaves open.
function parentheses(text) { return gsub(/[(]/, "", text) - gsub(/[)]/, "", text) }

function finish() {
  flush()
  commented = 0
}

FNR == 1 {
  finish()
  file = FILENAME
  isCode = 0; isPublicEnum = 0; isBlock = 0; isQuote = 0; line = 0; attribute = 0; most = n
}

isDocument() {
  line = FNR
  if ($0 ~ /^ *```/) { isCode = !isCode; flush(); next }
  if (isCode) next
  if ($0 ~ /^#/) { flush(); next }
  gather($0)
  next
}

{
  text = $0
  sub(/^ +/, "", text)
  if (text ~ /^\/\/\// && !isQuote) {
    flush()
    comment[++commented] = substr(text, 4)
    if (commented == 1) first = FNR
    next
  }
  # Lines of comment alone are one paragraph.
  if (text !~ /^\/\// && !isBlock) flush()
  line = FNR
  most = everywhere
  gather(aside(text))
  if (text !~ /^\/\// && !isBlock) flush()
  # An attribute on lines of its own belongs to the declaration below.
  if (text ~ /^@/ && text !~ /public /) { attribute = parentheses(text); next }
  if (attribute > 0) { attribute += parentheses(text); next }
  isPublic = text ~ /^(@[^ ]+ )*((nonisolated|override|final|indirect) )*(public|open) / && text !~ /public import/
  if (text ~ /(^| )enum [A-Z]/) isPublicEnum = isPublic
  if (commented) {
    flush()
    most = isPublic || (isPublicEnum && text ~ /^case /) ? n : everywhere
    isCode = 0
    for (i = 1; i <= commented; i++) {
      line = first + i - 1
      if (comment[i] ~ /^ *```/) { isCode = !isCode; flush() } else if (!isCode) gather(comment[i])
    }
    flush()
  }
  commented = 0
}

END { finish() }

# To be sourced. A test that crashes leaves the programs that it has started. Every process of a run has `$marker` in its
# environment, in whatever session and below whatever parent.
marker="RONDO_RUN=$$.$RANDOM"

# Ends what a run has left behind, and what that starts meanwhile. An argument says of which part; all without one.
end_leftovers() {
  local left
  # Processes of others cannot be read, which grep(1) tells.
  while left=$(grep -lszE "^$marker/${1:-}" /proc/[0-9]*/environ | cut -d / -f 3 || true) && [[ -n $left ]]; do
    kill -KILL $left 2>/dev/null || true
    sleep 0.05
  done
}

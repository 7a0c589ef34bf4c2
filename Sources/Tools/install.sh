# Sourced: installs the packages that `missing` names, with apt; sudo unless root.
((${#missing[@]})) || return 0
if ! command -v apt-get >/dev/null; then
  echo "Missing: ${missing[*]}, and there is no apt-get to install them with." >&2
  exit 1
fi
as_root=(env DEBIAN_FRONTEND=noninteractive)
((EUID == 0)) || as_root=(sudo "${as_root[@]}")
install=("${as_root[@]}" apt-get install --yes --no-install-recommends "${missing[@]}")
echo "Installing ${missing[*]}"
"${install[@]}" || { "${as_root[@]}" apt-get update && "${install[@]}"; }

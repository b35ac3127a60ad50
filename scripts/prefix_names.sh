#!/bin/sh
# prefix_names.sh: copies an archive, with each global name that is not the library's by its prefix
# renamed to one that is: state_new becomes cuttle_own_state_new. A program that links the copy may
# have a state_new of its own; debuggers know the functions by their names in the sources, still.
#   scripts/prefix_names.sh FROM.a TO.a NAMES.a
# The names are those that NAMES.a defines: all archives of a library that is in several.
# Without objcopy (macOS) the copy is as the original.
from=$1 to=$2 names=$3
objcopy=$(command -v "${OBJCOPY:-objcopy}" || command -v llvm-objcopy) || exec cp "$from" "$to"
map=$to.names
trap 'rm -f "$map"' EXIT
"${NM:-nm}" -g --defined-only "$names" | awk '
  NF == 3 && $3 !~ /^(ct_|cuttle_|luaopen_cuttle$|_)/ && !seen[$3]++ { print $3, "cuttle_own_" $3 }
' > "$map" || exit 1
rm -f "$to"
"$objcopy" --redefine-syms="$map" "$from" "$to"

#!/bin/sh
# link.sh: links a program that this machine cannot start by itself, as PROGRAM.EXTENSION, and writes
# PROGRAM, which starts it.
#   scripts/platforms/link.sh EXTENSION "RUNNER" LINKER ARGUMENT... -o PROGRAM
set -eu
extension=$1 runner=$2
shift 2
for program; do :; done
"$@.$extension"
case $program in
  /*) path=$program ;;
  *) path=$(pwd)/$program ;;
esac
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$runner" "$path.$extension" >"$program"
chmod +x "$program"

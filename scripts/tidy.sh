#!/bin/sh
# tidy.sh: runs clang-tidy on one C file, unless the ledger says that it found nothing in the same texts before.
#   scripts/tidy.sh FILE STAMP SETTING DEPENDENCIES FLAG...
# What it finds depends on the file SETTING (its version, its checks, and the headers of the system), on the flags, and
# on the file and all our headers that this includes, which the compiler has written into DEPENDENCIES as a rule of
# make. With - for these the compiler is asked now, for all headers, those of the system too. A line of the ledger is
# "HASH FILE" with the hash of all these. So a line vouches for its file, and a hash that is not there costs a run and
# nothing else. LINTED names another file of that form; with LINTED= all are run. The line of a file without findings
# is put into STAMP, for `make linted`.
set -eu
file=$1 stamp=$2 setting=$3 dependencies=$4
shift 4
ledger=${LINTED-tests/golden/linted.txt}

if [ "$dependencies" = - ]; then
  dependencies=$stamp.d
  "${CLANG:-clang}" -M -MF "$dependencies" "$@" "$file"
fi
# The first rule: those after it are for headers that are gone.
texts=$(sed -e '1s/^[^:]*: *//' -e '/\\$/!q' -e 's/\\$//' "$dependencies")
sums=$(sha256sum "$setting" $texts)
hash=$(echo "$*
$sums" | sha256sum)
hash=${hash%% *}
if [ -z "$ledger" ] || ! grep -qxF "$hash $file" "$ledger" 2>/dev/null; then
  echo "  TIDY  $file"
  "${CLANG_TIDY:-clang-tidy}" --quiet "$file" -- "$@" >"$stamp.log" 2>&1 || { cat "$stamp.log"; exit 1; }
fi
echo "$hash $file" >"$stamp"

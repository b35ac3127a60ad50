#!/bin/sh
# tidy.sh: runs clang-tidy on one C file, unless the ledger says that it found nothing in the same texts before.
#   scripts/tidy.sh FILE STAMP SETTING FLAG...
# What it finds depends on the file SETTING (its version and its checks), on the flags, and on the file and all
# headers that this includes, those of the system too. A line of the ledger is "HASH FILE" with the hash of all these.
# So a line vouches for its file, and a hash that is not there costs a run and nothing else. LINTED names another file
# of that form; with LINTED= all are run. The line of a file without findings is put into STAMP, for `make linted`.
set -eu
file=$1 stamp=$2 setting=$3
shift 3
ledger=${LINTED-tests/golden/linted.txt}

"${CLANG:-clang}" -M -MF "$stamp.d" "$@" "$file"
texts=$(sed -e '1s/^[^:]*: *//' -e 's/\\$//' "$stamp.d")
sums=$(sha256sum "$setting" $texts)
hash=$(echo "$*
$sums" | sha256sum)
hash=${hash%% *}
if [ -z "$ledger" ] || ! grep -qxF "$hash $file" "$ledger" 2>/dev/null; then
  echo "  TIDY  $file"
  "${CLANG_TIDY:-clang-tidy}" --quiet "$file" -- "$@" >"$stamp.log" 2>&1 || { cat "$stamp.log"; exit 1; }
fi
echo "$hash $file" >"$stamp"

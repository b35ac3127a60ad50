#!/bin/sh
# system_headers.sh: one line for the headers of the system that C files include with <>, and all that these include:
# the hash of their texts. Headers that this machine lacks, or that are for another one, count as none.
#   scripts/system_headers.sh FLAG... -- FILE...
set -eu
flags=
while [ "$1" != -- ]; do
  flags="$flags $1"
  shift
done
shift
# shellcheck disable=SC2086 # flags and names of files are words of a list
for header in $(sed -n 's/^ *# *include <\([^>]*\)>.*/\1/p' "$@" | LC_ALL=C sort -u); do
  echo "#include <$header>" | "${CLANG:-clang}" -M $flags -x c - 2>/dev/null || true
done | tr -s ' \\' '\n\n' | grep '^/' | LC_ALL=C sort -u | xargs cat | sha256sum

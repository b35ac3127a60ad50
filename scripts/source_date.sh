#!/bin/sh
# source_date.sh: the time that archives and packages say: SOURCE_DATE_EPOCH, else that of the last commit, or of an
# unpacked archive's files. The same sources then give the same bytes.
if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
  echo "$SOURCE_DATE_EPOCH"
elif [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
  git log -1 --format=%ct
else
  date -r CHANGELOG.md +%s 2>/dev/null || echo 0
fi

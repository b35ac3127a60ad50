#!/bin/sh
# luacheck.sh: runs luacheck on the Lua files of folders; it leaves out those of which the ledger says that it found
# nothing in the same text before.
#   scripts/luacheck.sh FOLDER...
# What it finds depends on its version, on .luacheckrc, on the names of the language, which that reads, and on the file
# alone; but notebooks know the globals of each other, and are always run. A line of the ledger is "HASH FILE", as
# tidy.sh's lines are, with the hash of all these. LINTED names another file of that form; with LINTED= all are run.
# Where nothing is found, the lines of all files are put into the file that STAMP names, if any, for `make linted`.
set -eu
ledger=${LINTED-tests/golden/linted.txt}

setting=$({ luacheck --version && cat .luacheckrc && "${LUA:-lua5.4}" scripts/language_names.lua; } | sha256sum)
lines=$(mktemp) known=$(mktemp)
trap 'rm -f "$lines" "$known"' EXIT
find "$@" -name '*.lua' | LC_ALL=C sort | xargs sha256sum |
  awk -v setting="${setting%% *}" '{ print substr(setting, 1, 16) substr($1, 1, 48), $2 }' >"$lines"
{ [ -z "$ledger" ] || cat "$ledger"; } >"$known"
new=$(awk 'FILENAME == ARGV[1] { known[$0]; next } !($0 in known) || /\/notebook\// { print $2 }' "$known" "$lines")
# shellcheck disable=SC2086 # names of files are words of a list
[ -z "$new" ] || luacheck --quiet --no-color $new
[ -z "${STAMP-}" ] || cp "$lines" "$STAMP"

#!/bin/sh
# tap_join.sh: runs programs that print TAP, one after the other, and prints one stream of TAP. A program that is
# skipped, ends early, or fails without saying so is one result of its own.
#   scripts/tap_join.sh PROGRAM...
#   scripts/tap_join.sh --with 'COMMAND' FILE...     runs COMMAND with each file
set -u
with=
if [ "${1:-}" = --with ]; then
  with=$2
  shift 2
fi
for name in "$@"; do
  echo "file ${name##*/}"
  # shellcheck disable=SC2086 # a command is words
  $with "$name" 2>&1 </dev/null || echo "status $?"
done | awk '
  function check(passed, text) {
    if (!passed) failed = file_failed = 1
    printf "%sok %d - %s: %s\n", passed ? "" : "not ", ++n, file, text
    n_file++
  }
  function finish() {
    if (file != "" && plan == "") check(0, "ended early")
    else if (file != "" && plan != "1.." n_file) check(0, "plan " plan ", but " n_file " results")
    plan = ""
    n_file = file_failed = 0
  }
  function skip(why) {
    printf "ok %d # skip %s: %s\n", ++n, file, why
    plan = "1.."
    n_file = ""
  }
  /^file / { finish(); file = $2; next }
  /^status / { if (plan != "" && !file_failed) { check(0, $0); plan = "1.." n_file }; next }
  /^1\.\.0 # [Ss][Kk][Ii][Pp]/ { skip(substr($0, 13)); next }
  /^1\.\.[0-9]+$/ { plan = $0; next }
  /^ok / { sub(/^ok *[0-9]* *-? */, ""); check(1, $0); next }
  /^not ok / { sub(/^not ok *[0-9]* *-? */, ""); check(0, $0); next }
  { print "# " $0 }
  END { finish(); print "1.." n; exit failed }'

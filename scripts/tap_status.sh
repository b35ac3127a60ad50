#!/bin/sh
# tap_status.sh: runs a command and reports its exit status as one TAP result.
#   scripts/tap_status.sh COMMAND [ARGUMENT...]
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
if "$@" >"$log" 2>&1 </dev/null; then
  echo "ok 1 - $1"
else
  echo "not ok 1 - $1 (exit code $?)"
fi
sed 's/^/# /' "$log"
echo 1..1

#!/bin/sh
# run_node.sh: runs a test that needs no browser in node, or reports why it is skipped, in TAP.
#   hosts/web/tests/run_node.sh TEST.js
set -eu

if command -v node >/dev/null 2>&1; then
  exec node "$(dirname "$0")/$1"
else
  echo "1..0 # SKIP no node here"
fi

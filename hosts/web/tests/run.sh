#!/bin/sh
# run.sh: runs a test of the playground in a browser, or reports why it is skipped, in TAP.
#   hosts/web/tests/run.sh PLAYGROUND CUTTLE [test_page.py]
set -eu
here=$(dirname "$0")
if [ ! -f "$1/index.html" ]; then
  echo "1..0 # SKIP no playground here; make playground builds it"
else
  exec "$here/../../../tests/browser/in_chromium.sh" "$here/${3-test_page.py}" "$1" "$2"
fi

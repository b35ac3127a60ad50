#!/bin/sh
# run.sh: runs a test of the playground in a browser, or reports why it is skipped, in TAP.
#   hosts/web/tests/run.sh PLAYGROUND CUTTLE [test_page.py]
set -eu

browser=
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then
    browser=$name
    break
  fi
done
if [ ! -f "$1/index.html" ]; then
  echo "1..0 # SKIP no playground here; make playground builds it"
elif ! command -v python3 >/dev/null 2>&1; then
  echo "1..0 # SKIP no python3 here"
elif [ -z "$browser" ]; then
  echo "1..0 # SKIP no chromium here"
else
  exec python3 -B "$(dirname "$0")/${3-test_page.py}" "$1" "$2" "$browser"
fi

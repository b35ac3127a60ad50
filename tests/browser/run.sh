#!/bin/sh
# run.sh: runs the test of the HTML pages in a browser, or reports why it is skipped, in TAP.
#   tests/browser/run.sh CUTTLE
set -eu

browser=
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then
    browser=$name
    break
  fi
done
if ! command -v python3 >/dev/null 2>&1; then
  echo "1..0 # SKIP no python3 here"
elif [ -z "$browser" ]; then
  echo "1..0 # SKIP no chromium here"
else
  exec python3 -B "$(dirname "$0")/test_pages.py" "$1" "$browser"
fi
